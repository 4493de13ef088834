"""Probes, shadows and recordings on a running daemon: command line, Python, and a replay that is bit-exact."""
import json
import os
import subprocess
import time

import pytest
import tunewire
from conftest import ROOT, TOOL, chain_text, read_wav, wait_for, write_wav

RATE = 48000


@pytest.fixture
def saw(tmp_path):
    """A slow saw: sample i of the file is even and tells where it is."""
    samples = [2 * (i % 8000) - 8000 for i in range(RATE)]
    return samples, write_wav(tmp_path / "in.wav", samples)


def tool(server, *words, ok=True):
    run = subprocess.run([TOOL, *words, "--target", server.uri], capture_output=True, text=True, timeout=60)
    assert (run.returncode == 0) == ok, run.stdout + run.stderr
    return run


def start(server, compiled, wav, *args, chain=2):
    return server(*args, ios=[f"audio_in_0=loop:{wav}"], graph=compiled(chain_text(chain)))


def test_probe_captures_around_a_level_and_writes_what_was_heard(server, compiled, saw, tmp_path):
    _, wav = saw
    s = start(server, compiled, wav)
    out = tmp_path / "edge.wav"
    words = ("--trigger", "level>0.1", "--pre", "1ms", "--post", "2ms", "--out", str(out), "--json")
    whole = 0
    for _ in range(5):
        told = json.loads(tool(s, "probe", "0", *words).stdout)
        assert told["cause"] == "level" and told["points"] == 144
        got = read_wav(out)
        assert len(got) == 144 and got[47] <= 0.1 * 32768 < got[48], "the trigger is not where it says"
        whole += all(b - a in (2, -15998) for a, b in zip(got, got[1:]))
    assert whole, "samples are missing in each capture"  # a busy machine may leave a hole in some of them
    plot = tool(s, "probe", "0", "--plot", "--post", "5ms").stdout
    assert "capture 0: now" in plot and "#" in plot
    table = tmp_path / "t.csv"
    tool(s, "probe", "0", "--pre", "4", "--post", "4", "--out", str(table))
    assert len(table.read_text().splitlines()) == 8
    bad = tool(s, "probe", "0", "--trigger", "louder", ok=False)
    assert "is no trigger" in bad.stderr
    huge = tool(s, "probe", "0", "--post", "100000000", ok=False)
    assert "memory" in huge.stderr


def test_python_probe_fires_by_host_and_repeats(server, compiled, saw):
    _, wav = saw
    s = start(server, compiled, wav)
    with tunewire.connect(s.uri) as dev:
        with dev.probe(0, "host", mode="repeat", pre=0.001, post=0.001) as probe:
            time.sleep(0.05)
            for number in range(3):
                probe.fire()
                capture = probe.read()
                assert capture.number == number and capture.cause == "host"
                assert len(capture.samples) == 96 and capture.before == 48
            assert probe.state().sent == 3
        captures = list(dev.probe(0, "level", low=0.05, hysteresis=0.01, mode="single", points="minmax", every=4))
        assert len(captures) == 1 and len(captures[0].samples) == 2 * captures[0].points
        with pytest.raises(tunewire.DeviceError):
            dev.probe(0, "level", channel=5)


def test_shadow_measures_a_candidate_and_promotes_it(server, compiled, saw):
    _, wav = saw
    s = start(server, compiled, wav)
    with tunewire.connect(s.uri) as dev:
        dev["amplifier.0"]["gain_db"] = 0.0
        with dev.shadow("amplifier.0", {}) as same:
            time.sleep(0.1)
            m = same.metrics()
            assert m.samples > 1000 and m.diff_rms == 0 and m.unequal == 0
        run = tool(s, "shadow", "amplifier.0", "gain_db=-6.0206", "--seconds", "0.5", "--json")
        told = json.loads(run.stdout)
        assert told["correlation"] > 0.99 and not told["promoted"]
        assert dev["amplifier.0"]["gain_db"] == 0.0, "what was dropped must not be heard"
        shadow = dev.shadow("amplifier.0", {"gain_db": -12.0})
        tick = shadow.promote()
        assert wait_for(lambda: dev.info().ticks > tick)
        assert abs(dev["amplifier.0"]["gain_db"] + 12.0) < 0.1
        stale = dev.shadow("amplifier.0", {"gain_db": -1.0})
        dev["amplifier.0"]["gain_db"] = -3.0
        with pytest.raises(tunewire.Aborted):
            stale.promote()
        stale.drop()
    refused = tool(s, "shadow", "amplifier.0", "gain_db=loud", ok=False)
    assert "gain_db" in refused.stderr


def replay(*words):
    return subprocess.run([TOOL, "replay", *map(str, words)], capture_output=True, text=True, timeout=120)


def test_a_recorded_session_replays_bit_exactly(server, compiled, saw, tmp_path):
    _, wav = saw
    record = tmp_path / "session.twrec"
    s = start(server, compiled, wav, "--record", str(record))
    with tunewire.connect(s.uri) as dev:
        for gain in (-3.0, -9.5, 2.25):
            dev["amplifier.1"]["gain_db"] = gain
            time.sleep(0.05)
        with dev.transaction():
            dev["amplifier.0"]["gain_db"] = -1.0
            dev["amplifier.1"]["gain_db"] = 1.0
        dev.load(compiled(chain_text(3)))
        time.sleep(0.05)
        dev["amplifier.2"]["mute"] = 1
        shadow = dev.shadow("amplifier.0", {"gain_db": -4.0})
        time.sleep(0.05)
        shadow.promote()
        time.sleep(0.05)
    heard = s.stop()
    played = tmp_path / "played"
    run = replay(record, "--verify", "--json", "--out", played)
    assert run.returncode == 0, run.stdout + run.stderr
    told = json.loads(run.stdout)
    assert told["identical"] and told["end"] == "whole" and told["different"] == 0
    assert told["blocks"] > 100 and told["commands"] >= 8
    files = [f for f in os.listdir(played) if f.endswith(".wav")]
    assert any(list(read_wav(played / f))[:1000] == list(heard)[:1000] for f in files)

    data = record.read_bytes()
    cut = tmp_path / "cut.twrec"
    cut.write_bytes(data[:len(data) * 2 // 3])
    run = replay(cut)
    assert run.returncode == 0 and "identical" in run.stdout and "not complete" in run.stderr
    assert replay(cut, "--verify").returncode != 0
    broken = tmp_path / "broken.twrec"
    broken.write_bytes(data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1:])
    run = replay(broken)
    assert run.returncode != 0 and "byte" in run.stderr and "Traceback" not in run.stderr
    run = replay(os.path.join(ROOT, "README.md"))
    assert run.returncode == 4 and "not a recording" in run.stderr
