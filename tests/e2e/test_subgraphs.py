"""Sub-graphs at the command line: where their files are looked for, and graphs that run with them."""
import subprocess

import pytest

from conftest import PLATFORM, TOOL

GRAPH = """format 0
    format_frame_length 8
stream_io 0
stream_io 1
    stream_io_hwid 9
subgraph front 0 part.txt
    0 1
_end_
"""
PART = """format 0
    format_frame_length 8
node arm_stream_amplifier 0
    node_name {name}
_end_
arc_input  1 arm_stream_amplifier 0 0 0
arc_output 2 arm_stream_amplifier 0 1 0
"""


def tool(folder, *args):
    return subprocess.run([TOOL, *args, "--platform", PLATFORM], capture_output=True, text=True, cwd=folder)


@pytest.fixture
def folder(tmp_path):
    for name in ("one", "two", "graphs"):
        (tmp_path / name).mkdir()
    (tmp_path / "graphs" / "g.txt").write_text(GRAPH)
    return tmp_path


def test_a_file_is_looked_for_in_its_folder_and_then_in_the_given_ones(folder):
    (folder / "two" / "part.txt").write_text(PART.format(name="second"))
    done = tool(folder, "compile", "graphs/g.txt", "-I", "one", "--include", "two")
    assert done.returncode == 0, done.stderr
    assert b"front.second" in (folder / "graphs" / "g.twg").read_bytes()
    (folder / "one" / "part.txt").write_text(PART.format(name="first"))
    assert tool(folder, "compile", "graphs/g.txt", "-I", "one", "-I", "two").returncode == 0
    assert b"front.first" in (folder / "graphs" / "g.twg").read_bytes()
    (folder / "graphs" / "part.txt").write_text(PART.format(name="own"))
    assert tool(folder, "compile", "graphs/g.txt", "-I", "one", "-I", "two").returncode == 0
    assert b"front.own" in (folder / "graphs" / "g.twg").read_bytes()


def test_a_file_that_is_nowhere_is_an_error_that_says_where_it_was_sought(folder):
    done = tool(folder, "compile", "graphs/g.txt", "-I", "one")
    assert done.returncode == 4
    assert "graphs/g.txt:6:18: error: cannot read 'graphs/part.txt'" in done.stderr
    assert "one: note: nor in this folder" in done.stderr


def test_an_error_inside_tells_which_use_of_the_file_it_is_in(folder):
    (folder / "graphs" / "part.txt").write_text(PART.format(name="gain") + "arc_flush 9\n")
    done = tool(folder, "compile", "graphs/g.txt")
    assert done.returncode == 4
    assert "graphs/part.txt:8:11: error: " in done.stderr
    assert "graphs/g.txt:6:10: note: in the sub-graph front" in done.stderr


def test_the_way_back_writes_the_graph_out(folder):
    (folder / "graphs" / "part.txt").write_text(PART.format(name="gain"))
    assert tool(folder, "compile", "graphs/g.txt").returncode == 0
    flat = tool(folder, "decompile", "graphs/g.twg")
    assert flat.returncode == 0 and "graph_subgraphs 1" in " ".join(flat.stdout.split()), flat.stderr
    (folder / "flat.txt").write_text(flat.stdout)
    assert tool(folder, "compile", "flat.txt").returncode == 0
    assert (folder / "flat.twg").read_bytes() == (folder / "graphs" / "g.twg").read_bytes()
