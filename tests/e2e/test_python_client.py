"""The Python package against a real device: its page, its examples, broken connections, big things."""
import os
import re
import struct
import subprocess
import sys
import time

import pytest
import tunewire
from conftest import ROOT, TOOL, chain_text, read_wav, wait_for, write_wav
from test_tuning import input_at, noise

ENV = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "host_tools", "python"), TUNEWIRE_TOOL=TOOL)


@pytest.fixture
def gate(server, compiled):
    return server(graph=compiled("examples/voice_gate.txt"))


def test_the_page_runs_as_written(gate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNEWIRE_TOOL", TOOL)
    with open(os.path.join(ROOT, "docs", "PYTHON.md")) as f:
        blocks = re.findall(r"```python\n(.*?)```", f.read(), re.S)
    assert len(blocks) >= 7
    names = {"URI": gate.uri, "GRAPH": os.path.join(ROOT, "examples", "voice_gate.txt")}
    for i, block in enumerate(blocks):
        exec(compile(block, f"PYTHON.md block {i + 1}", "exec"), names)
    assert len(names["block"].samples) > 0 and names["point"] is not None
    names["dev"].close()
    assert os.path.getsize("take.wav") == 44 + 9600 * 2


def example(name, *args):
    run = subprocess.run([sys.executable, os.path.join(ROOT, "examples", name), *args], capture_output=True, text=True,
                         env=ENV, timeout=30)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_meters_draws_a_bar_for_each_arc(gate):
    out = example("meters.py", gate.uri, "--seconds", "0.5")
    with tunewire.connect(gate.uri) as dev:
        for arc in dev.arcs():
            assert arc.name in out
    assert out.count("#") > 10 and "dB" in out


def test_ab_compare_measures_both_and_puts_back_what_it_found(server, compiled, tmp_path):
    tone = [8000 if i % 2 else -8000 for i in range(48000)]  # all of it above the low-pass
    s = server(ios=[f"audio_in_0={write_wav(tmp_path / 'in.wav', tone)}"], graph=compiled("examples/voice_gate.txt"))
    with tunewire.connect(s.uri) as dev:
        before = dev["filter.0"].get_block()
        out = example("ab_compare.py", s.uri, "--rounds", "2", "--seconds", "0.2")
        assert dev["filter.0"].get_block() == before
    assert out.count("A (preset 0)") == 2 and float(re.search(r"B - A = ([-+.\d]+) dB", out)[1]) < -6


def test_a_recording_is_the_arc_sample_by_sample(server, compiled, tmp_path):
    samples = noise(48000, seed=3)
    s = server(ios=[f"audio_in_0={write_wav(tmp_path / 'in.wav', samples)}"], graph=compiled(chain_text(1)))
    with tunewire.connect(s.uri) as dev:
        done = dev.record(str(tmp_path / "take.wav"), dev["amplifier.0"].out_arcs[0], 0.3)
    got = list(read_wav(done.path))
    assert (done.frames, done.dropped, len(got)) == (14400, 0, 14400)
    start = next(i for i in range(len(samples)) if input_at(samples, i, 48) == got[:48])
    assert got == input_at(samples, start, len(got))


def test_commit_tells_which_operation_failed_and_why(gate):
    with tunewire.connect(gate.uri) as dev:
        before = dev["amplifier.0"]["slope"]
        with pytest.raises(tunewire.Aborted) as e:
            with dev.transaction():
                dev["amplifier.0"]["slope"] = 9
                with pytest.raises(tunewire.OutOfRange) as direct:
                    dev["amplifier.0"]["gain_db"] = 99
        assert direct.value.what == e.value.what == "amplifier.0.gain_db" and e.value.where == 2
        assert isinstance(e.value.first_error, tunewire.OutOfRange) and e.value.__cause__ is e.value.first_error
        assert dev["amplifier.0"]["slope"] == before


def test_set_many_says_which_failed_and_leaves_the_transaction_free(server, compiled):
    s = server(graph=compiled(chain_text(200)))
    with tunewire.connect(s.uri) as dev:
        values = {(f"amplifier.{i}", "gain_linear"): 0.5 for i in range(200)}
        values["amplifier.7", "gain_linear"] = 1000.0
        with pytest.raises(tunewire.OutOfRange) as e:
            dev.set_many(values)
        assert e.value.what == "amplifier.7.gain_linear"
        with tunewire.connect(s.uri) as other, other.transaction():
            other["amplifier.0"]["gain_linear"] = 0.25
        assert dev["amplifier.7"]["gain_linear"] == 1 and dev["amplifier.0"]["gain_linear"] == 0.25


def cut(dev):
    """The connection breaks as the network would break it."""
    import socket
    dev.conn.sock.shutdown(socket.SHUT_RDWR)


def test_calls_uploads_and_subscriptions_outlive_a_broken_connection(server, compiled):
    s = server(graph=compiled(chain_text(1)))
    with tunewire.connect(s.uri, retry_s=3) as dev:
        session = dev.conn.hello.session
        feed = dev.subscribe(dev["amplifier.0"].out_arcs[0])
        first = feed.read()
        cut(dev)
        assert dev["amplifier.0"].set("gain_linear", 0.5) > 0
        assert dev.conn.hello.session == session
        seqs = [feed.read().seq for _ in range(20)]
        assert seqs == sorted(set(seqs)) and seqs[0] > first.seq
        feed.close()

        broken = []

        def breaks(done, total):
            if not broken and done > total // 2:
                broken.append(done)
                cut(dev)
        blob = dev.upload(bytes(range(256)) * 16384, progress=breaks)
        assert broken and dev.stats()["sessions_resumed"] >= 2
        dev.abort(blob)
        cut(dev)
        with pytest.raises((tunewire.NotFound, tunewire.ConnectionLost)), dev.transaction():
            cut(dev)
            dev["amplifier.0"]["gain_linear"] = 0.25
        assert dev["amplifier.0"]["gain_linear"] == 0.5, "an open transaction must not survive"


def test_resume_works_with_a_key(server, compiled, tmp_path):
    key = tmp_path / "key.txt"
    key.write_text("lab:" + "5a" * 32 + "\n")
    s = server(graph=compiled(chain_text(1)), key=key)
    with tunewire.connect(s.uri, key=key.read_text(), retry_s=3) as dev:
        session = dev.conn.hello.session
        cut(dev)
        dev["amplifier.0"]["gain_linear"] = 0.5
        assert dev.conn.hello.session == session and dev["amplifier.0"]["gain_linear"] == 0.5


def test_a_device_that_restarted_is_found_and_named_new(server, compiled):
    s = server(graph=compiled(chain_text(1)))
    dev = tunewire.connect(s.uri)
    dev["amplifier.0"]["gain_linear"] = 0.5
    boot = dev.conn.hello.boot_id
    s.stop()
    with pytest.raises(tunewire.ConnectionLost):
        dev.ping()
    server(graph=compiled(chain_text(1)), listen=f"127.0.0.1:{s.port}")
    assert dev.reconnect() is False and dev.conn.hello.boot_id != boot
    assert dev["amplifier.0"]["gain_linear"] == 1
    dev.close()


def test_time_ends_a_subscription_that_hears_nothing(gate):
    with tunewire.connect(gate.uri) as dev:
        dev.control("stop")
        start = time.monotonic()
        assert list(dev.subscribe(dev["amplifier.0"].out_arcs[0], seconds=0.3)) == []
        assert time.monotonic() - start < 1


def test_following_the_log_sees_what_happens_and_stops(gate):
    with tunewire.connect(gate.uri) as dev, dev.follow_log(seconds=5) as feed:
        tunewire.connect(gate.uri).close()
        assert wait_for(lambda: "session opened" in feed.read().text, 5)
        feed.close()
        assert feed.read() is None and dev.ping() < 1


def test_a_script_is_assembled_and_replaced(gate, tmp_path, monkeypatch):
    monkeypatch.setenv("TUNEWIRE_TOOL", TOOL)
    text = tmp_path / "five.txt"
    text.write_text("movi int16 r0 5\nret\n")
    with tunewire.connect(gate.uri) as dev:
        dev.load_script(0, str(text))
        assert list(dev.run_script(0).regs)[0] == 5
        text.write_text("nonsense\n")
        with pytest.raises(tunewire.TunewireError, match="five.txt"):
            dev.load_script(0, str(text))


def test_a_refused_image_leaves_no_blob_behind(gate, compiled):
    with open(compiled(chain_text(1)), "rb") as f:
        bad = bytearray(f.read())
    bad[-1] ^= 1
    with tunewire.connect(gate.uri) as dev:
        for _ in range(20):  # more than the device has blobs
            with pytest.raises(tunewire.ChecksumError):
                dev.load(bytes(bad))
        assert dev.info().generation == 1


@pytest.mark.parametrize("implementation", ["python", "default"])
def test_the_client_works_with_each_protobuf_implementation(gate, implementation):
    env = dict(ENV, **({"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"} if implementation == "python" else {}))
    code = ("import sys, tunewire; dev = tunewire.connect(sys.argv[1]); dev['amplifier.0']['gain_db'] = -6;"
            "print(dev['amplifier.0']['gain_db'], len(list(dev.subscribe(0, blocks=3))))")
    run = subprocess.run([sys.executable, "-c", code, gate.uri], capture_output=True, text=True, env=env, timeout=60)
    assert run.stdout.split() == ["-6.0", "3"], run.stderr


def test_blocks_are_what_struct_says(gate):
    with tunewire.connect(gate.uri) as dev:
        block = next(iter(dev.subscribe(0, blocks=1)))
        assert list(block.samples) == list(struct.unpack(f"<{len(block.data) // 2}h", block.data))
