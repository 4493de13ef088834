"""Graphs of ten thousand nodes are a normal input: what `make bench ONLY=compile_scale` measures is right, and stays within time.

The bound here is many times what a quiet machine takes; the figures are those of the bench.
"""
import json
import os
import re
import subprocess
import sys
import time

import pytest

from conftest import PLATFORM, ROOT, TOOL

sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
import gen_graph  # noqa: E402

CHAIN_HEAD = """format 0
format_frame_length 96
format_sampling_rate 48000
stream_io 0
stream_io_hwid 4
stream_io 1
stream_io_hwid 6
"""


def compile_text(text, folder, *more):
    (folder / "g.txt").write_text(text)
    start = time.monotonic()
    done = subprocess.run([TOOL, "compile", str(folder / "g.txt"), "-o", str(folder / "g.twg"), "--platform", PLATFORM,
                           *more], capture_output=True, text=True, timeout=60)
    return done, time.monotonic() - start


@pytest.mark.parametrize("nodes", [4, 6, 10, 100, 1000, 5000])
def test_a_generated_graph_has_three_arcs_for_two_nodes(nodes, tmp_path):
    text = gen_graph.text(nodes, seed=nodes)
    assert text == gen_graph.text(nodes, seed=nodes)
    assert len(re.findall(r"^node ", text, re.M)) == nodes
    assert len(re.findall(r"^arc(?:_input|_output)? ", text, re.M)) == nodes * 3 // 2
    done, _ = compile_text(text, tmp_path, "--report", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["report"]
    assert len(report["nodes"]) == nodes and len(report["arcs"]) == nodes * 3 // 2 and report["insertions"] == []


def test_ten_thousand_nodes_compile_and_come_back(tmp_path):
    done, seconds = compile_text(gen_graph.text(10000), tmp_path)
    assert done.returncode == 0 and seconds < 3, (seconds, done.stderr)
    first = (tmp_path / "g.twg").read_bytes()
    text = subprocess.run([TOOL, "decompile", str(tmp_path / "g.twg"), "--platform", PLATFORM], capture_output=True,
                          text=True, timeout=60)
    assert text.returncode == 0, text.stderr
    done, seconds = compile_text(text.stdout, tmp_path)
    assert done.returncode == 0 and seconds < 3, (seconds, done.stderr)
    assert (tmp_path / "g.twg").read_bytes() == first


def chain(count, line):
    nodes = "".join(line.format(i=i) for i in range(count))
    arcs = "".join(f"arc {kind} {i} 1 0 {kind} {i + 1} 0 0\n" for i in range(count - 1)
                   for kind in ["arm_stream_amplifier"])
    return (CHAIN_HEAD + nodes + "arc_input 0 arm_stream_amplifier 0 0 0\n" + arcs
            + f"arc_output 1 arm_stream_amplifier {count - 1} 1 0\n")


@pytest.mark.parametrize("what,line", [
    ("a name that all have", "node arm_stream_amplifier {i}\nnode_name same\n_end_\n"),
    ("types that are slips", "node arm_stream_amplifire {i}\n_end_\n"),
    ("an unknown tag in each", "node arm_stream_amplifier {i}\nnode_perset 1\n_end_\n"),
])
def test_ten_thousand_mistakes_are_counted_in_time(what, line, tmp_path):
    done, seconds = compile_text(chain(10000, line), tmp_path)
    assert done.returncode == 4 and "error" in done.stderr, what
    assert seconds < 3, (what, seconds)


def test_symbols_that_are_cut_to_one_are_numbered_in_time(tmp_path):
    """Below a sub-graph with a name as long as a symbol all nodes would have its name: none is searched for from 2 on."""
    count, kind = 10000, "arm_stream_amplifier"
    part = chain(count, "node arm_stream_amplifier {i}\n_end_\n").split("stream_io 0\n")[0]
    part += "".join(f"node {kind} {i}\n_end_\n" for i in range(count)) + f"arc_input 1 {kind} 0 0 0\n"
    part += "".join(f"arc {kind} {i} 1 0 {kind} {i + 1} 0 0\n" for i in range(count - 1))
    (tmp_path / "part.txt").write_text(part + f"arc_output 2 {kind} {count - 1} 1 0\n")
    name = "a_name_as_long_as_a_symbol_is__"
    done, seconds = compile_text(CHAIN_HEAD + f"subgraph {name} 0 part.txt\n2 i16; 0 1\n_end_\n", tmp_path, "--report",
                                 "--json")
    assert done.returncode == 0 and seconds < 3, (seconds, done.stderr)
    symbols = [node["name"] for node in json.loads(done.stdout)["report"]["nodes"]]
    assert len(symbols) == count == len(set(symbols))
