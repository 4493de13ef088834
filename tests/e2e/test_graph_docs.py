"""The pages about graphs: every text in them compiles or parses, every command prints what they say, every proof exists.

A fence says what it is: ```graph PATH and ```manifest PATH are files, written beside a copy of examples/ before anything
runs, ```mistake PATH is a graph with errors; ```part is some lines of a graph; ```console is commands after "$ " with what
they print. TW_GOLDEN_WRITE=1 writes what they print now into the page.
"""
import glob
import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, TOOL

PAGES = ["docs/GRAPH_LANGUAGE.md", "docs/GRAPH_IMAGE.md", "README.md"]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)


def fences(page):
    """(kind, path, text) of each block of a page."""
    with open(os.path.join(ROOT, page)) as f:
        for info, text in FENCE.findall(f.read()):
            kind, _, path = info.partition(" ")
            yield kind, path, text


def run(command, cwd):
    env = dict(os.environ, PATH=os.path.dirname(TOOL) + os.pathsep + os.environ["PATH"], NO_COLOR="1", LC_ALL="C.UTF-8")
    done = subprocess.run(["bash", "-c", command], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=60)
    return done.returncode, done.stdout.decode()


@pytest.fixture
def clone(tmp_path):
    """A folder that looks like a clone, where the pages may leave files."""
    shutil.copytree(os.path.join(ROOT, "examples"), tmp_path / "examples")
    for name in ("engine", "build"):
        os.symlink(os.path.join(ROOT, name), tmp_path / name)
    return tmp_path


def write_files(page, clone):
    names = []
    for kind, path, text in fences(page):
        if kind in ("graph", "manifest", "mistake") and path:
            full = clone / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(text)
            names.append((kind, path))
    return names


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_says_what_it_is(page):
    known = {"graph", "manifest", "mistake", "part", "console", "text", "hex", "sh", "python", ""}
    for kind, path, text in fences(page):
        assert kind in known, f"{page}: ```{kind}"
        assert kind not in ("graph", "manifest", "mistake") or path, f"{page}: a {kind} without a file name"
        looks_like_a_graph = re.search(r"^\s*(node|format|arc_input|stream_io) ", text, re.M)
        assert kind not in ("", "sh") or not looks_like_a_graph, f"{page}: an unchecked graph: {text[:80]}"


def test_every_graph_of_the_pages_compiles(clone):
    graphs = []
    for page in PAGES:
        graphs += [path for kind, path in write_files(page, clone) if kind == "graph"]
    for path in graphs:
        code, out = run(f"tunewire compile {path} -o x.twg", clone)
        assert code == 0 and "error" not in out, f"{path}: {out}"
    assert graphs


def test_every_part_and_manifest_of_the_pages_parses(clone):
    count = 0
    for page in PAGES:
        for kind, path, text in fences(page):
            if kind in ("part", "manifest"):
                (clone / "lines.txt").write_text(text)
                code, out = run("tunewire graph fmt lines.txt", clone)
                assert code == 0, f"{page}: {text}{out}"
                count += 1
    assert count >= 2


def console(text):
    """(command, what it prints) of a console block."""
    for block in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, out = block.partition("\n")
        yield command, out


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_says(page, clone):
    write_files(page, clone)
    path = os.path.join(ROOT, page)
    with open(path) as f:
        whole = f.read()

    def replay(m):
        if m[1] != "console":
            return m[0]
        lines = [f"$ {command}\n{run(command, clone)[1]}" for command, _ in console(m[2])]
        return "```console\n" + "".join(lines) + "```"
    now = FENCE.sub(replay, whole)
    if os.environ.get("TW_GOLDEN_WRITE"):
        with open(path, "w") as f:
            f.write(now)
    assert now == whole


def test_the_tables_are_current():
    for tool in glob.glob(os.path.join(ROOT, "tools", "gen_docs*.py")):
        done = subprocess.run(["python3", tool, "--check"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
