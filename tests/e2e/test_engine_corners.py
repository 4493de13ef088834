"""Corners of the engine as a user meets them: what a node lacks, short records, memory that outlives the daemon."""
import json
import os
import subprocess
import time

import tunewire
from conftest import DAEMON, PLATFORM, TOOL, chain_text, compile_graph, wait_for


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


def test_a_host_records_over_tcp_and_the_file_replays_bit_by_bit(server, compiled, tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    text = tmp_path / "chain.txt"
    text.write_text(chain_text(2))
    graph = compile_graph(text, tmp_path / "chain.twg")
    s = server("--record-dir", str(folder), ios=["audio_in_0=ramp"], graph=graph)
    assert "nothing was recorded" in tool(s, "record", "status").stdout
    assert "nothing is being recorded" in tool(s, "record", "stop", ok=False).stderr
    for name in ("../evil", "a/b", ".hidden", "/etc/passwd", "a b"):
        assert "without a folder" in tool(s, "record", "start", name, ok=False).stderr
    assert "begins with the next load" in tool(s, "record", "start", "one.twrec", "--outputs").stdout
    assert "one is under way" in tool(s, "record", "start", "two.twrec", ok=False).stderr
    tool(s, "load", graph, "--carry", "params")  # of a graph nobody recorded: not yet
    assert json.loads(tool(s, "record", "status", "--json").stdout)["phase"] == "waits"
    with tunewire.connect(s.uri) as dev:
        dev.load(graph)
        assert dev.record_state().phase == 2
        node = next(iter(dev.nodes.values()))
        for gain in (-3.0, -12.0, 2.0):
            node["gain_db"] = gain
            time.sleep(0.03)
        dev.load(graph, fade_s=0.01, carry="params")
        time.sleep(0.1)
        done = dev.record_stop()
        assert done.phase == 4 and done.complete and done.bytes > 1000
    assert "exists" in tool(s, "record", "start", "one.twrec", ok=False).stderr
    replay = subprocess.run([TOOL, "replay", str(folder / "one.twrec"), "--verify", "--json"], capture_output=True,
                            text=True, timeout=60)
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert json.loads(replay.stdout)["blocks"] > 50
    tool(s, "record", "start", "two.twrec")  # the next one, into a server that goes on
    tool(s, "load", graph)
    tool(s, "rollback")
    state = json.loads(tool(s, "record", "status", "--json").stdout)
    assert state["phase"] == "ended" and not state["complete"] and "before the recording" in state["text"]
    replay = subprocess.run([TOOL, "replay", str(folder / "two.twrec"), "--verify"], capture_output=True, text=True,
                            timeout=60)
    assert replay.returncode == 0, replay.stdout + replay.stderr
    s.stop()


def test_a_server_without_a_folder_records_for_nobody(server, compiled):
    s = server(graph=compiled(chain_text(1)))
    assert "--record-dir" in tool(s, "record", "start", "x.twrec", ok=False).stderr


def test_short_records_run_and_come_back(server, compiled, tmp_path):
    text = tmp_path / "chain.txt"
    text.write_text(chain_text(3))
    images = {}
    for option in ([], ["--compact"]):
        images[bool(option)] = tmp_path / f"chain{len(option)}.twg"
        run = subprocess.run([TOOL, "compile", str(text), "-o", str(images[bool(option)]), "--platform", PLATFORM, *option],
                             capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    s = server(ios=["audio_in_0=ramp"], graph=images[True])
    assert json.loads(tool(s, "info", "--json").stdout)["graph"]["nodes"] == 3
    back = tmp_path / "back.txt"
    run = subprocess.run([TOOL, "decompile", str(images[True]), "-o", str(back), "--platform", PLATFORM],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    again = tmp_path / "again.twg"
    run = subprocess.run([TOOL, "compile", str(back), "-o", str(again), "--platform", PLATFORM, "--compact"],
                         capture_output=True, text=True)
    assert run.returncode == 0 and again.read_bytes() == images[True].read_bytes(), run.stderr


def test_a_state_file_is_made_and_what_is_none_is_no_reason_not_to_start(compiled, tmp_path):
    graph, state = compiled("examples/motion_classifier.txt"), tmp_path / "state"

    def boot(path):
        return subprocess.run([DAEMON, "--platform", PLATFORM, "--graph", graph, "--listen", "127.0.0.1:0", "--pace",
                               "fast", "--blocks", "50", "--state", str(path)], capture_output=True, text=True, timeout=60)

    assert boot(state).returncode == 0 and state.exists()
    for data in (b"", b"no state", os.urandom(5000)):
        state.write_bytes(data)
        done = boot(state)
        assert done.returncode == 0 and "error" not in done.stderr, done.stderr
    nowhere = boot(tmp_path / "no" / "folder" / "state")
    assert nowhere.returncode == 0 or "state" in nowhere.stderr


def test_a_warm_reset_is_a_reset(server, compiled):
    s = server(ios=["audio_in_0=ramp"], graph=compiled(chain_text(1)))
    assert "running" in tool(s, "reset", "--warm").stdout
    with tunewire.connect(s.uri) as dev:
        assert dev.control("warm").state == 2
