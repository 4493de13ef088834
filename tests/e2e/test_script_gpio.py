"""A script sent over TCP watches a level in the running example, turns a pin, calls the host and runs a network."""
import math
import os
import re
import subprocess

import pytest
import tunewire
from conftest import ROOT, TOOL, wait_for, write_wav

SCRIPT = os.path.join(ROOT, "examples", "script_level_gpio.txt")
PIN, RATE = 5, 48000
UNSUPPORTED = 7
os.environ["TUNEWIRE_TOOL"] = TOOL  # texts are assembled on the way


def speech(tmp_path):
    """Silence, a tone that passes both thresholds, one between them (nothing changes), silence: again and again."""
    def tone(amplitude, n):
        return [int(32767 * amplitude * math.sin(2 * math.pi * 440 * i / RATE)) for i in range(n)]
    return write_wav(tmp_path / "in.wav", tone(0, 9600) + tone(0.3, 9600) + tone(0.045, 9600) + tone(0.001, 9600))


def network_status(dev):
    """0 where the device runs networks (feature bit 4 of the protocol), else what says that it does not."""
    return 0 if dev.conn.hello.features >> 4 & 1 else UNSUPPORTED


@pytest.fixture
def running(server, compiled, tmp_path):
    gpio_log = tmp_path / "gpio.log"
    s = server("--gpio-log", str(gpio_log), ios=["audio_in_0=" + speech(tmp_path)],
               graph=compiled(os.path.join("examples", "voice_gate.txt")))
    with tunewire.connect(s.uri) as dev:
        yield s, dev, gpio_log


def test_a_level_turns_a_pin_calls_the_host_and_runs_a_network(running):
    s, dev, gpio_log = running
    events, levels = [], []
    with tunewire.connect(s.uri) as dev2, tunewire.connect(s.uri) as watcher, watcher.gpio.watch(10) as pins, dev.follow_log(10) as log:
        states = iter(pins)
        assert next(states).value == 0
        dev2.load_script(0, SCRIPT)
        assert dev2.run_script(0).status.code == 0
        while len(levels) < 5:
            levels.append(next(states))
        dev2.stop_script(0)
        for line in log:
            found = re.match(r"event (\d+): (-?\d+)", line.text)
            if found:
                events.append(tuple(map(int, found.groups())))
            if len([e for e in events if e[0] == 7]) == 5:
                break
        assert dev2.scripts()[0].faults == 0
    # on, off, on ...: the tone between the thresholds changes nothing
    assert [v.value >> PIN & 1 for v in levels] == [1, 0, 1, 0, 1]
    assert all(v.direction == 1 << PIN for v in levels)
    assert all(a.t_us < b.t_us for a, b in zip(levels, levels[1:]))
    assert [e[1] for e in events if e[0] == 7] == [1, 0, 1, 0, 1]
    statuses = [e[1] for e in events if e[0] == 8]
    assert statuses and set(statuses) == {network_status(dev)}
    assert wait_for(lambda: len(gpio_log.read_text().splitlines()) >= 5)


def test_a_script_may_write_what_the_policy_lets_it(server, compiled, tmp_path):
    s = server("--gpio-scripts", "0000000f", ios=["audio_in_0=" + speech(tmp_path)],
               graph=compiled(os.path.join("examples", "voice_gate.txt")))
    write = tmp_path / "write.txt"
    write.write_text("movi int32 r0 1\nmovi int32 r2 1\ncopyt r1 r3\ncals gpio\nret\n")
    with tunewire.connect(s.uri) as dev:
        dev.load_script(0, write)
        assert dev.run_script(0, 0, 0, 0, 3).regs[0] == 0
        assert dev.run_script(0, 0, 0, 0, PIN).regs[0] == 16  # DENIED
        assert dev.gpio.get().value == 8
        dev.gpio[PIN] = True  # a host may
        assert dev.gpio[PIN] and dev.gpio[3]
        with pytest.raises(IndexError):
            dev.gpio[32]


def test_pins_by_the_command_line(server):
    s = server()

    def run(*args):
        return subprocess.run([TOOL, *args, "-t", s.uri], capture_output=True, text=True, timeout=20)
    assert run("gpio", "get", "3").stdout == "0\n"
    watch = subprocess.Popen([TOOL, "gpio", "watch", "-t", s.uri], stdout=subprocess.PIPE, text=True)
    assert "pins 00000000" in watch.stdout.readline()
    assert run("gpio", "set", "3=on", "1=1", "0=off").returncode == 0
    assert "pins 0000000a  outputs 0000000b" in watch.stdout.readline()
    watch.terminate()
    assert watch.wait(5) in (0, -15)
    assert run("gpio", "get", "3").stdout == "1\n"
    for bad in (("gpio", "get", "32"), ("gpio", "set", "32=on"), ("gpio", "set", "3=2"), ("gpio", "set", "3")):
        assert run(*bad).returncode == 2, bad


def test_a_use_case_of_a_script_brings_its_graph(server, compiled, tmp_path):
    other = compiled(open(os.path.join(ROOT, "examples", "voice_gate.txt")).read().replace("voice_gate\n", "other\n", 1))
    s = server("--use-case", f"3={other}", "--use-case", "4=/nowhere",
               graph=compiled(os.path.join("examples", "voice_gate.txt")))
    ask = tmp_path / "ask.txt"
    ask.write_text("callsys 12\nret\n")
    with tunewire.connect(s.uri) as dev:
        before = dev.info().generation
        dev.load_script(0, ask)
        assert dev.run_script(0, 4).regs[0] == 0
        assert wait_for(lambda: any("use case 4: /nowhere" in line.text for line in dev.log()) or
                        "use case 4" in open(s.log_path).read())
        assert dev.info().generation == before
        assert dev.run_script(0, 3).regs[0] == 0
        assert wait_for(lambda: dev.info().generation > before)
        assert dev.info().name == "other"
