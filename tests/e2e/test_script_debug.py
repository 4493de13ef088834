"""The script debugger against a running daemon: held, stepped, changed and let go while the sound goes on."""
import json
import signal
import subprocess
import time

import pytest
import tunewire
from conftest import TOOL, chain_text, wait_for

CODE = """
    movi int16 r1 1
    addk r1 2
    call #1
    ret
    labl #1
    addk r1 4
    ret
"""
PC = {"movi": 0, "addk": 4, "call": 6, "ret": 8, "inside": 12}


SCRIPT = "script {}\nscript_registers 3\nscript_pointers 1\nscript_stack 2\nscript_assembler\n{}\n_end_\n_end_\n"


def graph(code=CODE, node_script=True):
    """One amplifier of gain 1 with script 0 around it, and a second script that is its copy."""
    head, tail = chain_text(1).split("node arm_stream_amplifier 0\n")
    node = "node arm_stream_amplifier 0\n" + ("node_script 0\n" if node_script else "")
    return head + SCRIPT.format(0, code) + SCRIPT.format(1, code) + node + tail


@pytest.fixture
def running(server, compiled):
    return lambda text, *args: server(*args, ios=["audio_in_0=ramp"], graph=compiled(text))


def tool(s, *args, given=None):
    return subprocess.run([TOOL, *args, "--target", s.uri], input=given, capture_output=True, text=True, timeout=30)


def test_a_script_is_held_stepped_changed_and_let_go_while_the_graph_runs(running):
    s = running(graph())
    with tunewire.connect(s.uri) as dev:
        assert wait_for(lambda: dev.scripts()[0].runs > 10)
        with dev.debug(0) as d:
            one = d.break_at(PC["addk"], when="r0 == 1")
            stop = d.go()
            assert (stop.state, stop.why, stop.pc, stop.r[1]) == ("held", "breakpoint", 4, 1)
            assert stop.types[1] == "int16" and stop.frames == [(0, 4)]
            tick = dev.info().ticks
            assert wait_for(lambda: dev.info().ticks > tick + 100)
            assert d.state().missed >= 200  # before and after the node in every block
            d["r1"] = 40
            assert d["r1"] == 40
            assert d.step().r[1] == 42
            assert [d.step().pc, d.state().frames] == [10, [(0, 10), (0, 8)]]
            assert d.finish().pc == PC["ret"] and d["r1"] == 46
            d.clear(one)
            end = d.step()
            assert (end.state, end.why) == ("free", "call ended")
            assert d.breakpoints() == []
        runs = dev.scripts()[0].runs
        assert wait_for(lambda: dev.scripts()[0].runs > runs + 100)
        assert dev.scripts()[0].faults == 0
    s.stop()


def test_the_sound_is_that_of_a_graph_without_the_script(running):
    """The same samples come out, through stops, steps, changes and a detach."""
    s = running(graph(node_script=False))
    with tunewire.connect(s.uri) as dev:
        assert wait_for(lambda: dev.info().ticks > 300)
    plain = s.stop()
    s = running(graph())
    with tunewire.connect(s.uri) as dev:
        for _ in range(5):
            with dev.debug(0) as d:
                d.break_at(PC["addk"])
                assert d.go().held
                d["r1"] = 7
                d.step(2)
                tick = dev.info().ticks
                assert wait_for(lambda: dev.info().ticks > tick + 50)
                assert d.state().missed >= 90
    out = s.stop()
    n = min(len(plain), len(out))
    assert n > 10000 and any(out) and out[:n] == plain[:n]


def test_a_second_debugger_hears_who_has_it_and_gets_it_when_the_first_vanishes(running):
    s = running(graph())
    first, second = tunewire.connect(s.uri), tunewire.connect(s.uri)
    d = first.debug(0)
    d.break_at(PC["addk"])
    assert d.go().held
    with pytest.raises(tunewire.Busy, match="debugged by"):
        second.debug(0)
    first.conn.sock.close()
    assert wait_for(lambda: attaches(second))
    runs = second.scripts()[0].runs
    assert wait_for(lambda: second.scripts()[0].runs > runs + 100)  # let go, and its breakpoints with it
    second.close()
    s.stop()


def attaches(dev):
    try:
        dev.debug(0).detach()
        return True
    except tunewire.Busy:
        return False


def test_a_silent_debugger_loses_it(running):
    s = running(graph())
    with tunewire.connect(s.uri) as dev:
        d = dev.debug(0, lease_s=0.2)
        d.break_at(0)
        time.sleep(0.5)
        with pytest.raises(tunewire.FailedPrecondition):
            d.state()
    s.stop()


def test_a_replacement_in_a_transaction_is_atomic_with_parameters_also_while_held(running):
    """The new code and the gain apply before the same block; the held call of the old code is let go."""
    s = running(graph())
    other = bytes.fromhex("02210900" "0540" "00c0")  # movi int16 r1 9; addk r0 5; ret
    with tunewire.connect(s.uri) as dev:
        with dev.debug(0) as d:
            d.break_at(PC["inside"])
            assert d.go().pc == PC["inside"]
            with dev.transaction() as t:
                dev["amplifier.0"]["gain_db"] = -6
                dev.load_script(0, other)
            stop = d.state()
            assert (stop.state, stop.why) == ("free", "its code was replaced")
            assert stop.tick == t.tick
            assert d.breakpoints() == [] and d.code() == other
            d.break_at(4)
            assert d.go().r[1] == 9
        assert dev["amplifier.0"]["gain_db"] == pytest.approx(-6, abs=0.1)
    s.stop()


def test_with_several_threads_scripts_are_held_all_the_same(running):
    s = running(graph(), "--threads", "2")
    with tunewire.connect(s.uri) as dev, dev.debug(0) as d:
        d.break_at(PC["addk"])
        assert d.go().held
        with dev.transaction() as t:
            dev["amplifier.0"]["gain_db"] = -6
            dev.load_script(0, bytes.fromhex("0540" "00c0"))
        stop = d.state()
        assert (stop.why, stop.tick) == ("its code was replaced", t.tick)
    s.stop()


def test_the_graph_may_stand_still_where_a_script_is_held(running):
    s = running(graph())
    with tunewire.connect(s.uri) as dev, dev.debug(0, stop_graph=True) as d:
        d.break_at(PC["addk"], when="r0 == 1")
        assert d.go().graph_held
        tick = dev.info().ticks
        assert d.step().pc == PC["call"]
        dev.control("step", 3)
        assert wait_for(lambda: dev.info().ticks == tick + 3)
        d.clear()
        with pytest.raises(tunewire.Timeout):
            d.go(timeout=0.3)
        assert dev.info().ticks > tick + 10
    s.stop()


def test_a_trace_tells_instructions_with_numbers(running):
    s = running(graph())
    with tunewire.connect(s.uri) as dev:
        with dev.trace(0, instructions=True, seconds=5) as feed:
            events = [feed.read() for _ in range(60)]
    assert [e.seq for e in events] == list(range(events[0].seq, events[0].seq + 60))
    texts = [e.text for e in events if e.kind == 16]
    assert any("addk r1 4  r1 = 7" in t for t in texts), texts
    assert {e.script for e in events} == {0}
    s.stop()


# ---- the command line ---------------------------------------------------------------------


def test_the_terminal_debugger_takes_commands_from_a_pipe(running, tmp_path):
    s = running(graph())
    (tmp_path / "a.asm").write_text("first\nsecond\nthird\n")
    (tmp_path / "a.map.json").write_text(json.dumps({"file": "a.asm", "map": [{"pc": 0, "line": 1}, {"pc": 4, "line": 2}]}))
    p = tool(s, "script", "debug", "0", "--map", str(tmp_path / "a.map.json"),
             given="break line:2 if r0 == 1\ncontinue\nprint r1\nset r1 5\nstep\nframes\nquit\n")
    assert p.returncode == 0, p.stderr
    assert "=> 0004  addk r1 2" in p.stdout and "; 2: second" in p.stdout
    assert "r1 = int16 1" in p.stdout and "#0  script 0 at 0006" in p.stdout
    with tunewire.connect(s.uri) as dev:
        assert attaches(dev)
    s.stop()


def test_commands_with_json_answer_a_line_each(running, tmp_path):
    s = running(graph())
    commands = tmp_path / "x"
    commands.write_text("# to the routine\ntb 12\nc\nfinish\nx code uint16 0 2\ninfo b\n")
    p = tool(s, "--json", "script", "debug", "0", "-x", str(commands))
    assert p.returncode == 0, p.stderr
    lines = [json.loads(line) for line in p.stdout.splitlines()]
    assert lines[0]["breakpoints"][0]["once"] and lines[1]["pc"] == 12 and lines[2]["r"][1] == {"type": "int16", "value": 7}
    assert lines[3]["values"] == ["8450", "1"] and lines[4]["breakpoints"] == []
    s.stop()


@pytest.mark.parametrize("given, says", [
    ("break 2\n", "no instruction begins there"),
    ("break 99:0\n", "no such script"),
    ("step\n", "no call is held"),
    ("print r1\n", "no script is held"),
    ("frobnicate\n", "help lists the commands"),
    ("set r1\n", "set r0..r5"),
    ("watch mem 4096\n", "no memory there"),
    ("break 4 if r9 == 1\n", "if REGISTER"),
])
def test_what_cannot_be_is_said_and_ends_a_file(running, given, says):
    s = running(graph())
    p = tool(s, "script", "debug", "0", given=given + "info\n")
    assert p.returncode != 0 and says in p.stderr, p.stderr
    s.stop()


def test_ctrl_c_holds_the_script_and_traces_end_with_it(running):
    s = running(graph(node_script=True))
    p = subprocess.Popen([TOOL, "script", "debug", "0", "--target", s.uri, "--wait", "20000"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdin.write("continue\nquit\n")
    p.stdin.flush()
    time.sleep(0.7)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=10)
    assert p.returncode == 0 and "held as asked" in out, (out, err)
    t = subprocess.Popen([TOOL, "script", "trace", "--target", s.uri, "--instructions"], stdout=subprocess.PIPE, text=True)
    assert "script 0" in t.stdout.readline()
    t.send_signal(signal.SIGINT)
    t.stdout.read()
    assert t.wait(10) == 0
    s.stop()


def test_roles_decide_who_may_debug(running, tmp_path):
    key = tmp_path / "key"
    key.write_text("bench:" + "ab" * 32)
    s = running(graph(), "--key", str(key))
    with tunewire.connect(s.uri, key="bench:" + "ab" * 32, role=0) as dev:
        with pytest.raises(tunewire.PermissionDenied):
            dev.debug(0)
        with dev.trace(0, instructions=True, seconds=5) as feed:
            assert feed.read() is not None
    s.stop()
