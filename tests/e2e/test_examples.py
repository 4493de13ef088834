"""Every example graph: it compiles, says what it is, prints as it stands, is drawn, comes back from its image, and runs."""
import glob
import json
import os
import re
import subprocess
from xml.etree import ElementTree

import pytest

from conftest import DAEMON, PLATFORM, ROOT, TOOL, wait_for

GRAPHS = sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "examples", "*.txt"))
                if re.search(r"^(node|subgraph) ", open(path).read(), re.M))
PARTS = sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "examples", "parts", "*.txt")))


def text_of(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def platform_of(path):
    """The top manifest that the example's own command names."""
    named = re.search(r"compile examples/\S+ .*--platform (\S+)", text_of(path))
    return os.path.join(ROOT, named[1]) if named else PLATFORM


def tool(*args):
    return subprocess.run([TOOL, *map(str, args)], cwd=ROOT, capture_output=True, text=True, timeout=60)


def compile_to(path, out, *more):
    done = tool("compile", path, "-o", out, "--platform", platform_of(path), *more)
    assert done.returncode == 0, done.stderr
    return done


def missing(done):
    """Node types that the device lacks, as the compiler names them."""
    return set(re.findall(r"warning: .*?(arm_stream_\w+)", done.stderr))


def test_there_are_examples():
    assert len(GRAPHS) >= 6 and PARTS


@pytest.mark.parametrize("path", GRAPHS)
def test_an_example_compiles_and_says_what_it_is(path, tmp_path):
    done = compile_to(path, tmp_path / "x.twg")
    text = text_of(path)
    head = text[:re.search(r"^[^;]", text, re.M).start()]
    assert "-->" in head and "tunewire compile " + path in head, "a head with a picture and how to run it"
    lacking = missing(done)
    assert not lacking or "not installed" in head, f"its head does not say that {lacking} are not installed"
    assert lacking or done.stderr == "", done.stderr


@pytest.mark.parametrize("path", GRAPHS + PARTS)
def test_an_example_is_canonical(path):
    done = tool("graph", "fmt", "--check", path)
    assert done.returncode == 0, f"tunewire graph fmt --write {path}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("path", GRAPHS)
def test_an_example_is_drawn_whole(path, tmp_path):
    picture = tmp_path / "x.svg"
    done = tool("graph", "draw", path, "-o", picture, "--platform", platform_of(path))
    assert done.returncode == 0, done.stderr
    drawn = "".join(ElementTree.parse(picture).getroot().itertext())
    compile_to(path, tmp_path / "x.twg")
    report = json.loads(tool("--json", "compile", path, "-o", tmp_path / "x.twg", "--report", "--platform",
                             platform_of(path)).stdout)
    names = [node["name"].split(".")[0] for node in report["report"]["nodes"]]
    assert names and all(name in drawn for name in names), (names, drawn)


@pytest.mark.parametrize("path", GRAPHS)
def test_an_example_comes_back_from_its_image(path, tmp_path):
    lacking = missing(compile_to(path, tmp_path / "x.twg"))
    # the program knows the installed types by itself
    for platform in [["--platform", platform_of(path)]] + ([] if lacking else [[]]):
        done = tool("decompile", tmp_path / "x.twg", "-o", tmp_path / "again.txt", *platform)
        assert done.returncode == 0, done.stderr
        done = tool("compile", tmp_path / "again.txt", "-o", tmp_path / "again.twg", "--platform", platform_of(path))
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "again.twg").read_bytes() == (tmp_path / "x.twg").read_bytes()


@pytest.mark.parametrize("path", GRAPHS)
def test_an_example_runs_on_recorded_speech(path, tmp_path, server):
    image = tmp_path / "x.twg"
    lacking = missing(compile_to(path, image))
    if lacking:
        pytest.skip(f"{path}: the device has no {', '.join(sorted(lacking))}")
    if platform_of(path) != PLATFORM:
        pytest.skip(f"{path}: for another platform")
    if "arm_stream_infer" in text_of(path):
        done = subprocess.run([DAEMON, "--platform", PLATFORM, "--io", "audio_in_0=ramp", "--graph", image, "--listen",
                               "127.0.0.1:0", "--blocks", "20"],
                              capture_output=True, text=True, timeout=30)
        assert done.returncode == 0 and "loaded" in done.stderr, done.stderr
        pytest.skip(f"{path}: loads and falls back, there is no network to run")
    s = server(graph=image)

    def rows(verb, kind):
        return json.loads(tool("-t", s.uri, "--json", *verb).stdout)[kind]
    assert wait_for(lambda: all(n["runs"] > 100 for n in rows(["nodes"], "nodes")), 10), rows(["nodes"], "nodes")
    assert all(n["errors"] == 0 for n in rows(["nodes"], "nodes"))
    scripts = rows(["script", "list"], "scripts")
    assert all(x["faults"] == 0 for x in scripts), scripts
    wait_for(lambda: all(n["runs"] > 1500 for n in rows(["nodes"], "nodes")), 2)  # past the silence before the words
    out = s.stop()
    if re.search(r"stream_io_hwid +6", text_of(path)):
        assert max(out) > 500 and min(out) < -500, "speech is heard"
