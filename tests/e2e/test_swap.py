"""Swapping under sound, going back, and changes that wait to be confirmed; with the tool and in Python."""
import json
import math
import subprocess
import time

import pytest
import tunewire
from conftest import TOOL, chain_text, wait_for, write_wav

RATE, PEAK = 48000, 12000


@pytest.fixture
def sine(tmp_path):
    samples = [round(PEAK * math.sin(2 * math.pi * 1000 * i / RATE)) for i in range(RATE)]
    return write_wav(tmp_path / "sine.wav", samples)


def tool(server, *words):
    return [TOOL, *words, "--target", server.uri]


def started(dev):
    assert wait_for(lambda: dev.info().state == 2)
    return next(n for n in dev.nodes if "amplifier" in dev.nodes[n].type)


def run(server, *words):
    return subprocess.run(tool(server, *words), capture_output=True, text=True, timeout=30)


def test_swaps_and_rollbacks_with_a_fade_are_not_heard(server, compiled, sine):
    loud, quiet = compiled(chain_text(1)), compiled(chain_text(1).replace("h16; 0805", "h16; 0806"))
    s = server(ios=[f"audio_in_0={sine}"], graph=loud)
    with tunewire.connect(s.uri) as dev:
        time.sleep(0.2)
        for turn in range(6):
            info = dev.load(quiet if turn % 2 == 0 else loud, fade_s=0.03)
            assert info.can_roll_back
            assert wait_for(lambda: not dev.info().fading)
            dev.rollback(fade_s=0.03)
            assert wait_for(lambda: not dev.info().fading)
            dev.keep()
    out = list(s.stop())
    first = next(i for i, v in enumerate(out) if v)
    steps = max(abs(b - a) for a, b in zip(out[first:], out[first + 1:]))
    slope = PEAK * 2 * math.pi * 1000 / RATE
    assert steps <= slope + 2 * PEAK / (0.03 * RATE) + 2


def test_what_is_tuned_survives_a_reload_that_carries_parameters(server, compiled, sine):
    s = server(ios=[f"audio_in_0={sine}"], graph=compiled(chain_text(1)))
    again = compiled(chain_text(1))
    with tunewire.connect(s.uri) as dev:
        name = started(dev)
        dev[name]["gain_db"] = -9
        dev.load(again, carry="params", fade_s=0.01)
        assert dev[name]["gain_db"] == pytest.approx(-9, abs=0.1)
        assert wait_for(lambda: not dev.info().fading)
        dev.load(again)
        assert dev[name]["gain_db"] == pytest.approx(0, abs=0.1)


def test_the_tool_waits_for_a_word_and_another_gives_it(server, compiled, sine):
    s = server(ios=[f"audio_in_0={sine}"], graph=compiled(chain_text(1)))
    with tunewire.connect(s.uri) as dev:
        name = started(dev)
        for word, gain in (("confirm", -6), ("revert", 0)):
            dev[name]["gain_db"] = 0
            waiting = subprocess.Popen(tool(s, "set", f"{name}.gain_db=-6", "--confirm", "20s"),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert wait_for(lambda: dev.info().confirm_ms > 0)
            done = run(s, word, "--json")
            assert done.returncode == 0 and json.loads(done.stdout)["what"] == "values"
            out, err = waiting.communicate(timeout=10)
            assert "confirm within" in err
            assert dev[name]["gain_db"] == pytest.approx(gain, abs=0.1)
        failed = run(s, "set", f"{name}.gain_db=-6", "--confirm", "50ms")
        assert failed.returncode == 1 and "nobody confirmed in time" in failed.stderr
        assert run(s, "confirm").returncode == 1


def test_load_and_rollback_with_the_tool(server, compiled, sine):
    s = server(ios=[f"audio_in_0={sine}"], graph=compiled(chain_text(1)))
    other = compiled(chain_text(1).replace("h16; 0805", "h16; 0806"))
    assert run(s, "rollback").returncode == 1
    loaded = run(s, "load", other, "--fade", "5", "--carry", "state", "--json")
    assert json.loads(loaded.stdout)["can_roll_back"] is True
    assert wait_for(lambda: run(s, "rollback", "--fade", "5").returncode == 0)
    with tunewire.connect(s.uri) as dev:
        assert wait_for(lambda: not dev.info().fading)
    failed = run(s, "load", other, "--confirm", "80ms")
    assert failed.returncode == 1 and "nobody confirmed in time" in failed.stderr
    assert run(s, "load", other, "--carry", "all").returncode == 2


def test_a_python_transaction_may_be_confirmed(server, compiled, sine):
    s = server(ios=[f"audio_in_0={sine}"], graph=compiled(chain_text(1)))
    with tunewire.connect(s.uri) as dev:
        name = started(dev)
        with dev.transaction(confirm_s=5) as t:
            dev[name]["gain_db"] = -6
        assert t.confirm() > 0
        with dev.transaction(confirm_s=5) as t:
            dev[name]["gain_db"] = -20
        assert dev[name]["gain_db"] == pytest.approx(-20, abs=0.1)
        assert t.revert() > t.tick
        assert dev[name]["gain_db"] == pytest.approx(-6, abs=0.1)
        with dev.transaction(confirm_s=0.05) as t:
            dev[name]["gain_db"] = -20
        assert wait_for(lambda: dev.info().confirm_ms == 0)
        with pytest.raises(tunewire.DeviceError):
            t.confirm()
        with tunewire.connect(s.uri) as gone:
            with gone.transaction(confirm_s=30):
                gone[name]["gain_db"] = -20
        assert wait_for(lambda: dev.info().revert_text == "the connection was lost")
        assert dev[name]["gain_db"] == pytest.approx(-6, abs=0.1)
