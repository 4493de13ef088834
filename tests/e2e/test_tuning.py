"""The main job: load, tune, watch, reload a running graph; every claim read back from the output samples."""
import json
import os
import subprocess
import sys
import time

import pytest
import tunewire
from conftest import ROOT, TOOL, chain_text, compile_graph, wait_for, write_wav

BLOCK = 48


def noise(n, seed=1, peak=8000):
    out, x = [], seed
    for _ in range(n):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        out.append((x >> 8) % (2 * peak) - peak)
    return out


@pytest.fixture
def tone(tmp_path):
    """A file whose sample i tells i: even values, so that halving is exact."""
    samples = [2 * v for v in noise(48000, peak=4000)]
    return samples, write_wav(tmp_path / "in.wav", samples)


def played(server):
    return os.path.getsize(server.out_path) if os.path.exists(server.out_path) else 0


def input_at(samples, first, n):
    return [samples[(first + i) % len(samples)] for i in range(n)]


def find_start(out, samples):
    """The output starts with the first block of the graph; the input may have started earlier or not at all."""
    assert len(out) > 4 * BLOCK
    assert list(out[:BLOCK]) == samples[:BLOCK], "a unity graph must pass the first block unchanged"


def test_arcs_debug_tells_fills_figures_and_ios(server, compiled, tone):
    text = chain_text(1).replace("arc_output", "arc_debug_cmd 10\narc_output", 1)
    s = server(ios=[f"audio_in_0={tone[1]}"], graph=compiled(text))
    time.sleep(0.3)
    run = subprocess.run([TOOL, "-t", s.uri, "--json", "arcs", "--debug"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    arcs = json.loads(run.stdout)["arcs"]
    first = arcs[0]
    assert first["debug"]["task"] == "peak" and 0.05 < first["debug"]["value"] <= 0.25
    assert first["io"]["frames"] > 10 and first["io"]["lost"] == 0
    table = subprocess.run([TOOL, "-t", s.uri, "arcs", "--debug"], capture_output=True, text=True).stdout
    assert "r0 peak 0." in table and "frames" in table
    s.stop()


def test_settings_of_ios_are_listed_named_and_set(server, compiled):
    with open(os.path.join(ROOT, "examples/motion_classifier.txt")) as f:
        text = f.read().replace("stream_io_hwid   0 ", "stream_io_hwid   3 ")
    s = server(ios=["motion_in_0=ramp"], graph=compiled(text))
    top = ["--platform", os.path.join(ROOT, "examples/platform/top_manifest_computer.txt")]
    setting = "io_motion_averaging acc"

    def run(*args):
        return subprocess.run([TOOL, "-t", s.uri, *args], capture_output=True, text=True)

    def io(*args):
        out = run("--json", "io", *args)
        assert out.returncode == 0, out.stdout + out.stderr
        return json.loads(out.stdout)
    row = io("motion_in_0", *top)["ios"][0]
    assert not row["tx"] and row["settings"][setting] == 1
    refused = run("io", "motion_in_0", f"{setting}=5", *top)
    assert refused.returncode == 2 and "not one of its options" in refused.stderr and "1 4 16 32" in refused.stderr
    assert "no such setting" in run("io", "motion_in_0", "io_gain=1", *top).stderr
    assert io("motion_in_0", f"{setting}=16", *top)["applied_tick"] >= 0
    now = io("motion_in_0", *top)["ios"][0]
    assert now["settings"][setting] == 16 and now["words"] != row["words"]
    assert f"{setting}=16" in run("io", *top).stdout
    with tunewire.connect(s.uri) as dev:
        index = [i.name for i in dev.ios()].index("io_platform_motion_in_0")
        with dev.transaction(confirm_s=5) as t:
            dev.set_io("motion_in_0", row["words"])
        assert wait_for(lambda: list(dev.ios()[index].settings) == row["words"])
        t.revert()
        assert list(dev.ios()[index].settings) == now["words"]
        with pytest.raises(tunewire.DeviceError):
            dev.set_io("motion_in_0", [0xFFFFFFFF, 0, 0])
    s.stop()


def test_edit_compile_reload_swaps_without_gap_or_restart(server, compiled, tone, tmp_path):
    samples, wav = tone
    s = server(ios=[f"audio_in_0={wav}"], graph=compiled(chain_text(1)))
    text = tmp_path / "edited.txt"
    text.write_text(chain_text(1))
    with tunewire.connect(s.uri) as dev:
        pid, before = s.pid, dev.info()
        time.sleep(0.3)
        start = time.monotonic()
        text.write_text(text.read_text().replace("h16; 0805", "h16; 0806"))  # 0 dB -> -6 dB
        after = dev.load(compile_graph(text, tmp_path / "edited.twg"))
        took = time.monotonic() - start
        assert after.generation == before.generation + 1
        time.sleep(0.3)
        assert s.alive() and s.pid == pid
    out = s.stop()
    print(f"edit -> compile -> reload: {took * 1000:.0f} ms")
    assert took < 1.0
    find_start(out, samples)
    source = input_at(samples, 0, len(out))
    switch = next(i for i in range(len(out)) if out[i] != source[i])
    assert switch % BLOCK == 0 or all(v == 0 for v in source[switch - switch % BLOCK:switch])
    first = switch - switch % BLOCK
    assert list(out[first:]) == [v // 2 for v in source[first:]], "a gap or a wrong sample after the swap"


def test_thousand_parameter_transaction_applies_at_one_block_boundary(server, compiled, tone):
    samples, wav = tone
    # FP32 inside, so that 1,000 gains of 2 and 1/2 multiply exactly; anything partial would be heard.
    text = chain_text(1000, raw=27, frame=192)
    s = server(ios=[f"audio_in_0={wav}"], graph=compiled(text))
    with tunewire.connect(s.uri) as dev:
        assert len(dev.nodes) == 1000
        gains = [2.0 if i % 2 == 0 else 0.5 for i in range(1000)]
        gains[999] = 0.25  # all together: one half
        values = {(f"amplifier.{i}", "gain_linear"): g for i, g in enumerate(gains)}
        time.sleep(0.1)
        start = time.monotonic()
        tick = dev.set_many(values)
        took = time.monotonic() - start
        time.sleep(0.2)
        assert dev["amplifier.0"]["gain_linear"] == 2.0
        # one bad value: nothing happens
        values[("amplifier.500", "gain_linear")] = 1000.0
        for i in range(0, 500):
            values[(f"amplifier.{i}", "gain_linear")] = 0.0
        with pytest.raises((tunewire.OutOfRange, ValueError)):
            dev.set_many(values)
        time.sleep(0.2)
        assert dev["amplifier.0"]["gain_linear"] == 2.0
    out = s.stop()
    print(f"1000 parameters staged and committed in {took * 1000:.0f} ms, applied before block {tick}")
    source = input_at(samples, 0, len(out))
    at = tick * BLOCK
    assert list(out[:at]) == source[:at]
    assert list(out[at:]) == [v // 2 for v in source[at:]], "the transaction did not apply at exactly one boundary"


def test_set_names_the_exact_block(server, compiled, tone):
    samples, wav = tone
    s = server(ios=[f"audio_in_0={wav}"], graph=compiled(chain_text(1)))
    changes = []
    with tunewire.connect(s.uri) as dev:
        for i in range(40):
            gain = 0x0806 if i % 2 == 0 else 0x0805
            changes.append((dev["amplifier.0"].set("gain", gain), gain))
            time.sleep(0.003 * (i % 4))
        assert dev["amplifier.0"]["gain"] == changes[-1][1]
        time.sleep(0.05)
    out = s.stop()
    source, gain, want, pending = input_at(samples, 0, len(out)), 0x0805, [], list(changes)
    for block in range(len(out) // BLOCK):
        while pending and pending[0][0] <= block:
            gain = pending.pop(0)[1]
        want += [v if gain == 0x0805 else v // 2 for v in source[block * BLOCK:(block + 1) * BLOCK]]
    assert list(out[:len(want)]) == want


def test_commit_at_a_named_tick(server, compiled, tone):
    samples, wav = tone
    s = server(ios=[f"audio_in_0={wav}"], graph=compiled(chain_text(1)))
    with tunewire.connect(s.uri) as dev:
        tick = dev.info().ticks + 200
        with dev.transaction(at_tick=tick) as t:
            dev["amplifier.0"]["gain"] = 0x0806
        assert t.tick == tick
        time.sleep(0.1)
    out = s.stop()
    source = input_at(samples, 0, len(out))
    assert list(out[:tick * BLOCK]) == source[:tick * BLOCK]
    assert list(out[tick * BLOCK:]) == [v // 2 for v in source[tick * BLOCK:]]


def test_python_script_of_under_15_lines_does_load_set_get_subscribe(server, compiled):
    path = os.path.join(ROOT, "examples", "tune.py")
    lines = [r for r in open(path).read().split('"""', 2)[2].splitlines() if r.strip()]
    assert len(lines) < 15
    s = server()
    image = compiled("examples/voice_gate.txt")
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "host_tools", "python"))
    run = subprocess.run([sys.executable, path, s.uri, image], capture_output=True, text=True, env=env, timeout=30)
    assert run.returncode == 0, run.stderr
    assert "-6.0" in run.stdout and len(run.stdout.splitlines()) == 6


def test_subscription_delivers_every_block_in_order(server, compiled, tone):
    samples, wav = tone
    s = server(ios=[f"audio_in_0={wav}"], graph=compiled(chain_text(1)))
    with tunewire.connect(s.uri) as dev:
        arc = dev["amplifier.0"].out_arcs[0]
        got, seqs, dropped = [], [], 0
        for b in dev.subscribe(arc, seconds=0.5):
            got += b.samples
            seqs.append(b.seq)
            dropped += b.dropped
    s.stop()
    assert dropped == 0 and seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    assert len(got) > 0.3 * 48000
    doubled = samples + samples
    start = next(i for i in range(len(samples)) if doubled[i:i + 96] == got[:96])
    assert got == input_at(samples, start, len(got))


def test_seed_example_runs_filter_detector_and_gpio(server, compiled):
    s = server(graph=compiled("examples/voice_gate.txt"))
    with tunewire.connect(s.uri) as dev:
        kinds = {n.type for n in dev.nodes.values()}
        assert {"arm_stream_filter", "arm_stream_amplifier", "arm_stream_detector"} <= kinds
        assert wait_for(lambda: any("gpio" in r.text for r in dev.log()), 5), "the detector never moved the GPIO"
    s.stop()


def cli(s, *args, code=0, stdin=None):
    run = subprocess.run([TOOL, "-t", s.uri, *args], capture_output=True, text=True, timeout=30, input=stdin)
    assert run.returncode == code, (args, run.returncode, run.stdout, run.stderr)
    return run


def test_every_cli_verb_speaks_json(server, compiled, tmp_path):
    image = compiled("examples/voice_gate.txt")
    s = server()
    for args in (["load", image], ["info"], ["nodes"], ["arcs"], ["params"], ["params", "filter.0"], ["get", "amplifier.0"],
                 ["get", "amplifier.0.gain_db"], ["set", "amplifier.0.gain_db=-3"], ["ping"], ["stats"],
                 ["script", "list"], ["log"], ["arc", "list"], ["arc", "read", "0"]):
        out = cli(s, "--json", *args).stdout
        lines = args[0] in ("log", "ping")  # what goes on for a while is one document a line
        rows = [json.loads(line) for line in out.splitlines()] if lines else [json.loads(out)]
        assert rows, args
    text = cli(s, "get", "amplifier.0.gain_db").stdout
    assert "-3" in text and "dB" in text
    s.stop()


def test_cli_errors_say_what_where_and_what_to_do(server, compiled):
    s = server(graph=compiled("examples/voice_gate.txt"))
    run = cli(s, "set", "amplifier.0.gain_db=99", code=2)
    assert "gain_db" in run.stderr and "36" in run.stderr
    run = cli(s, "set", "amplifyer.0.gain_db=1", code=2)
    assert "amplifier.0" in run.stderr, "the nearest name must be offered"
    s.stop()
    run = subprocess.run([TOOL, "-t", "tcp://127.0.0.1:1", "info"], capture_output=True, text=True, timeout=30)
    assert run.returncode == 3 and "tunewired" in run.stderr
