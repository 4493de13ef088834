"""Corners of the engine as a user meets them: what a node lacks, short records, memory that outlives the daemon."""
import os
import subprocess

from conftest import PLATFORM, ROOT, TOOL, chain_text, compile_graph, wait_for


def tool(server, *words, ok=True):
    run = subprocess.run([TOOL, *words, "--target", server.uri], capture_output=True, text=True, timeout=60)
    assert (run.returncode == 0) == ok, run.stdout + run.stderr
    return run


def test_a_network_node_without_a_backend_says_so_and_what_to_do(server, compiled):
    s = server(ios=["audio_in_0=ramp"], graph=compiled("examples/voice_keyword.txt"))
    assert wait_for(lambda: "no inference backend on this device" in tool(s, "log").stdout)
    log = tool(s, "log").stdout
    assert "node " in log and "(" in log.split("no inference backend")[0].splitlines()[-1]
    assert "leave the node out" in log
