"""tunewire graph draw and decode-legacy as people use them."""
import json
import os
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from conftest import PLATFORM, ROOT, TOOL
from graph_texts import amplifier_chain

GRAPH = os.path.join(ROOT, "examples", "voice_gate.txt")
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="there is no Graphviz here")


def run(*words, cwd=None, **env):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, cwd=cwd, env={**os.environ, **env}, timeout=120)


@needs_dot
def test_a_drawing_is_svg_with_titles_and_tips(tmp_path):
    out = tmp_path / "g.svg"
    done = run("graph", "draw", GRAPH, "-o", out)
    assert done.returncode == 0, done.stderr
    root = ET.parse(out).getroot()
    titles = {e.text for e in root.iter("{http://www.w3.org/2000/svg}title")}
    assert {"voice_gate", "node filter.0", "input io_platform_audio_in_0"} <= titles
    assert any("node filter.0->node amplifier.0" == t for t in titles)
    tips = [e.get("{http://www.w3.org/1999/xlink}title") for e in root.iter()]
    assert any(t and "block 0: " in t and "filter.0: ARM/arm_stream_filter 0" in t for t in tips)
    texts = "".join(e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "96 B frame, 144 B buffer" in texts


@needs_dot
def test_no_box_of_sixty_nodes_lies_on_another(tmp_path):
    text, out = tmp_path / "g.txt", tmp_path / "g.svg"
    text.write_text(amplifier_chain(60))
    done = run("graph", "draw", text, "-o", out, "--platform", PLATFORM)
    assert done.returncode == 0, done.stderr
    plain = subprocess.run(["dot", "-Tplain"], capture_output=True, text=True, check=True,
                           input=run("graph", "draw", text, "--dot", "--platform", PLATFORM).stdout.decode())
    boxes, size = [], None
    for line in plain.stdout.splitlines():
        words = shlex.split(line)
        if words[0] == "graph":
            size = float(words[2]), float(words[3])
        elif words[0] == "node":
            boxes.append(tuple(map(float, words[2:6])))
    assert len(boxes) >= 62 and size[0] < 4 * size[1], "a strip, not a page"
    for i, (x, y, w, h) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[:i]:
            assert abs(x - x2) * 2 >= w + w2 - 0.02 or abs(y - y2) * 2 >= h + h2 - 0.02


@needs_dot
@pytest.mark.parametrize("name, magic", [("g.png", b"\x89PNG"), ("g.pdf", b"%PDF")])
def test_the_name_chooses_the_format(tmp_path, name, magic):
    assert run("graph", "draw", GRAPH, "-o", tmp_path / name).returncode == 0
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_an_image_and_its_text_give_the_same_boxes_and_arrows(tmp_path):
    image = tmp_path / "g.twg"
    assert run("compile", GRAPH, "-o", image).returncode == 0
    lines = [run("graph", "draw", path, "--dot").stdout.decode().splitlines() for path in (GRAPH, image)]
    arrows = [sorted(line.split(" [")[0] for line in text if " -> " in line) for text in lines]
    assert arrows[0] == arrows[1] and len(arrows[0]) == 5


def test_without_graphviz_the_package_is_named_and_nothing_is_written(tmp_path):
    done = run("graph", "draw", GRAPH, "-o", tmp_path / "g.svg", PATH=str(tmp_path))
    assert done.returncode == 4
    assert b"program not found: dot: install the package: apt-get install graphviz" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_picture_program_that_fails_leaves_the_old_picture(tmp_path):
    fake = tmp_path / "dot"
    fake.write_text(f"#!{sys.executable}\nimport sys\nprint('half a picture')\nsys.exit(1)\n")
    fake.chmod(0o755)
    out = tmp_path / "g.svg"
    out.write_text("old")
    done = run("graph", "draw", GRAPH, "-o", out, PATH=str(tmp_path))
    assert done.returncode == 4 and b"did not finish: dot" in done.stderr
    assert out.read_text() == "old"


def test_a_picture_program_that_neither_reads_nor_stops_writing_is_no_deadlock(tmp_path):
    fake = tmp_path / "dot"
    fake.write_text(f"#!{sys.executable}\nimport sys\nsys.stdout.write('x' * 3000000)\nsys.stdin.read()\n")
    fake.chmod(0o755)
    text = tmp_path / "g.txt"
    text.write_text(amplifier_chain(1500))
    done = run("graph", "draw", text, "-o", tmp_path / "g.svg", "--platform", PLATFORM, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "g.svg").stat().st_size == 3000000


def test_diagnostics_are_in_the_json_answer(tmp_path):
    text = tmp_path / "g.txt"
    text.write_text("format 0\n  format_raw_data S61\n")
    done = run("compile", "g.txt", "--json", "--platform", PLATFORM, cwd=tmp_path)
    error = json.loads(done.stdout)["error"]
    assert done.returncode == error["exit"] == 4
    first = error["diagnostics"][0]
    assert {k: first[k] for k in ("file", "line", "col", "end_col", "severity")} == {
        "file": "g.txt", "line": 2, "col": 19, "end_col": 22, "severity": "error"}
    assert "S16" in first["text"] and first["notes"] == []


def test_a_legacy_listing_is_explained_as_json(tmp_path):
    words = open(os.path.join(ROOT, "tests", "fuzz", "corpus", "legacy", "seed_whole")).read()
    (tmp_path / "l.txt").write_text(words)
    done = run("graph", "decode-legacy", tmp_path / "l.txt", "--json")
    listing = json.loads(done.stdout)
    assert done.returncode == 0 and listing["layout"] == "full"
    assert [n["index"] for n in listing["nodes"]] == [1, 2]
    assert listing["nodes"][0]["parameters"]["bytes"].startswith("02003112281D")
    assert [a["bytes"] for a in listing["arcs"]] == [8, 8, 16, 16, 36, 28]
    assert sum(len(r["values"]) for r in listing["raw"]) == 145 - 83
