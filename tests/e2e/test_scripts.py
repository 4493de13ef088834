"""Scripts at work: what they set is heard, what they write is put out, what they say reaches the log."""
import math
import os
import subprocess

import tunewire
from conftest import ROOT, TOOL, wait_for, write_wav

GATE = open(os.path.join(ROOT, "examples", "voice_gate.txt")).read()
HEAD, TAIL = GATE.split("script 0\n", 1)
TAIL = TAIL.split("_end_\n_end_\n", 1)[1]


def with_script(code, node="detector", extra=""):
    """The voice gate with its script 0 replaced, run before and after a node."""
    script = f"script 0\nscript_registers 3\nscript_pointers 1\nscript_stack 2\n{extra}script_assembler\n{code}\n_end_\n_end_\n"
    return HEAD + script + TAIL.replace(f"node arm_stream_{node} 0", f"node arm_stream_{node} 0\nnode_script 0", 1)


# After the detector: mute the amplifier (node 1, parameter 3) unless the newest sample of arc 4 is set.
MUTE = """
    eqk r0 1
    cjmp #1             ; before the node: T = 1 lets it run
    movi int16 r2 4
    pshc int16 4
    cals readarc
    load r1 *p0
    eqk r1 0
    psht
    store *p0 s0
    movi int16 r0 3
    movi int16 r2 1
    pshc int16 1
    cals setparam
    labl #1
    ret
"""


def test_a_detector_gates_the_sound_by_script(server, compiled, tmp_path):
    rate, half = 48000, 24000
    sensor = [int(12000 * math.sin(i / 3) * (i >= half)) or (i * 7919) % 9 - 4 for i in range(2 * half)]
    speech = [1000 + i % 500 for i in range(2 * half)]
    s = server(ios=["analog_sensor_0=" + write_wav(tmp_path / "sensor.wav", sensor, rate),
                    "audio_in_0=" + write_wav(tmp_path / "in.wav", speech, rate)],
               graph=compiled(with_script(MUTE)))
    with tunewire.connect(s.uri) as dev:
        seen = set()
        assert wait_for(lambda: seen.add(dev["amplifier.0"]["mute"]) or len(seen) == 2, 5), seen
        runs = dev.scripts()[0].runs
        assert wait_for(lambda: dev.scripts()[0].runs > runs + 2000, 5)  # twice a block: a period of the sensor
        assert dev.scripts()[0].faults == 0
    out = s.stop()
    silent = sum(v == 0 for v in out)
    assert silent > half // 4 and len(out) - silent > half // 4, (silent, len(out))


def write_gpio(value):
    """After the detector: what it said is replaced by `value`, and each change of mind is told."""
    return f"""
    eqk r0 1
    cjmp #1
    movi int16 r0 4
    movi int16 r1 4
    callsys 2           ; clear arc 4
    movi int16 r2 24
    copy lc r2
    movi int32 r1 {value * 0x7FFF7FFF}
    labl #2
    store *p0+ r1
    banz #2
    movi int16 r1 0
    pbase p0 r1
    movi int16 r2 96
    pshc int16 4
    cals writearc
    labl #1
    movi int16 r1 1     ; T = 1: the node runs
    eqk r1 1
    ret
"""


def test_a_script_drives_the_gpio_and_is_replaced_while_it_does(server, compiled, tmp_path):
    s = server(graph=compiled(with_script(write_gpio(0), extra="script_heap 32\n")))
    source = tmp_path / "one.txt"
    with tunewire.connect(s.uri) as dev:
        assert wait_for(lambda: dev.scripts()[0].runs > 200, 5)
        assert dev.scripts()[0].faults == 0, dev.log()
        assert not any("gpio_out_0 = 1" in r.text for r in dev.log())
        source.write_text(write_gpio(1))
        subprocess.run([TOOL, "-t", s.uri, "script", "load", "0", str(source)], check=True, capture_output=True)
        assert wait_for(lambda: any("gpio_out_0 = 1" in r.text for r in dev.log()), 5)
        assert dev.scripts()[0].faults == 0
    s.stop()


def test_an_event_of_a_script_reaches_the_log_with_its_bytes(server, compiled, tmp_path):
    """Also from literals: the replacement travels with its pool, as text and as a file of `script asm`."""
    s = server(graph=compiled(with_script("ret")))
    text, binary = tmp_path / "event.txt", tmp_path / "event.bin"
    text.write_text("psha words\ncopy p0 s0\nmovi int16 r0 77\nmovi int16 r2 4\ncals event\nret\nwords: 4 u8; 72 73 33 10\n")
    subprocess.run([TOOL, "script", "asm", str(text), "-o", str(binary)], check=True, capture_output=True)
    with tunewire.connect(s.uri) as dev:
        for file in (text, binary):
            before = sum("77" in r.text for r in dev.log())
            subprocess.run([TOOL, "-t", s.uri, "script", "load", "0", str(file)], check=True, capture_output=True)
            assert wait_for(lambda: sum("77" in r.text for r in dev.log()) > before, 5), [r.text for r in dev.log()]
            subprocess.run([TOOL, "-t", s.uri, "script", "stop", "0"], check=True, capture_output=True)
        assert dev.scripts()[0].faults == 0
    s.stop()
