"""What the compiler inserts runs: a graph whose ends differ, against the same arithmetic done here."""
import json
import math
import os
import re
import shutil
import subprocess
from fractions import Fraction

import pytest
from conftest import DAEMON, PLATFORM, ROOT, TOOL, compile_graph, read_wav, write_wav

GRAPH = """graph_name differing
format 0                                    ; microphone and loudspeaker
    format_raw_data         S16
    format_frame_length     96
    format_sampling_rate    48000
format 1                                    ; where the amplifier works
    format_raw_data         FP32
    format_frame_length     192
    format_sampling_rate    48000
format 2                                    ; for the application
    format_raw_data         {raw}
    format_frame_length     {frame}
    format_nbchan           {channels}
    format_interleaving     {blocks}
    format_sampling_rate    {rate}

stream_io 0
    stream_io_hwid          4
    stream_io_format        0
stream_io 1
    stream_io_hwid          6
    stream_io_format        0
stream_io 2
    stream_io_hwid          9
    stream_io_format        2

node arm_stream_amplifier 0
    node_parameters
        1 u8;   2                           ; gain alone
        1 h16;  0806                        ; one half
    _end_
_end_

arc_input  0 arm_stream_amplifier 0 0 1
arc_output 1 arm_stream_amplifier 0 1 1
arc_output 2 arm_stream_amplifier 0 1 1
"""
BLOCKS = 200


def signal():
    """A sweep, then what rounds and what clips: every rail and every tie."""
    sweep = [round(12000 * math.sin(i * i * 2e-5)) for i in range(BLOCKS * 48 - 400)]
    return sweep + [-32768, 32767, 1, -1, 3, -3, 5, -5] * 50


def play(tmp_path, **other):
    text = tmp_path / "graph.txt"
    text.write_text(GRAPH.format(**other))
    image = compile_graph(text, tmp_path / "graph.twg")
    sound = write_wav(tmp_path / "in.wav", signal())
    out, data = str(tmp_path / "line.wav"), str(tmp_path / "data.wav")
    done = subprocess.run([DAEMON, "--platform", PLATFORM, "--graph", image, "--listen", "127.0.0.1:0", "--pace", "fast",
                           "--blocks", str(BLOCKS), "--io", f"audio_in_0=once:{sound}", "--io", f"line_out_0={out}",
                           "--io", f"data_out_0={data}"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return read_wav(out), read_wav(data)


def halved():
    return [Fraction(v, 2) for v in signal()]


def test_fan_out_and_conversion_give_the_oracles_samples(tmp_path):
    line, data = play(tmp_path, raw="S16", frame=160, channels=2, blocks=0, rate=48000)
    want = [round(v) for v in halved()]                   # ties to even, as Python rounds
    assert len(line) == BLOCKS * 48
    assert list(line) == want
    whole = len(data) // 2                                # frames of 40 samples fill at their own pace
    assert whole >= BLOCKS * 48 - 40
    assert list(data) == [v for v in want[:whole] for _ in range(2)]


def kernel(u, half, low):
    """resample.h: a sinc cut off at 0.45 of the lower rate under a Kaiser window."""
    x, edge = 2 * 0.45 * low * u, u / half
    term = total = 1.0
    arg = 10.06 * math.sqrt(max(0.0, 1 - edge * edge)) / 2
    for k in range(1, 40):
        term *= (arg / k) ** 2
        total += term
    return total * (1.0 if x == 0 else math.sin(math.pi * x) / (math.pi * x))


@pytest.mark.parametrize("rate,up,down,frame", [(16000, 1, 3, 64), (24000, 1, 2, 96), (44100, 147, 160, 588)])
def test_a_resampled_branch_is_the_definition_to_20_bits(tmp_path, rate, up, down, frame):
    _, data = play(tmp_path, raw="FP32", frame=frame, channels=1, blocks=0, rate=rate)
    x = [float(v) for v in halved()]
    half = -(-32 * down // up)
    assert len(data) >= (BLOCKS * 48 - 48) * up // down - frame // 4
    for q in list(range(0, 40)) + list(range(40, len(data), 61)):
        newest, phase = q * down // up, q * down % up
        taps = [kernel(j + phase / up - half, half, up / down) for j in range(2 * half)]
        want = sum(g * x[newest - j] for j, g in enumerate(taps) if newest - j >= 0) / sum(taps)
        assert abs(data[q] - want) < 32768 * 2 ** -20, f"output {q}: {data[q]}, {want}"


def test_the_report_names_what_was_inserted(tmp_path):
    text = tmp_path / "graph.txt"
    text.write_text(GRAPH.format(raw="FP32", frame=64, channels=1, blocks=0, rate=16000))
    run = [TOOL, "compile", str(text), "-o", str(tmp_path / "g.twg"), "--platform", PLATFORM, "--report"]
    shown = subprocess.run(run, capture_output=True, text=True, timeout=30).stdout
    assert len(re.findall(r"arm_stream_converter\b", shown)) >= 3
    assert "arm_stream_split" in shown
    report = json.loads(subprocess.run(run + ["--json"], capture_output=True, text=True, timeout=30).stdout)
    types = [n["type"] for n in report["report"]["nodes"]]
    assert types.count("arm_stream_converter") == 3 and types.count("arm_stream_split") == 1


def test_a_described_type_compiles_and_is_refused_by_the_device(tmp_path):
    shutil.copytree(os.path.dirname(PLATFORM), tmp_path / "platform")
    top = tmp_path / "platform" / os.path.basename(PLATFORM)
    manifests = os.path.join(ROOT, "engine", "node", "manifests")
    lines = top.read_text().replace("../../engine/node/manifests/", manifests + "/")
    count, rest = re.search(r"^(\d+)( +; node types.*)", lines, re.M).groups()
    lines = lines.replace(count + rest, f"{int(count) + 1}{rest}") + "0  node_manifest_later.txt\n"
    top.write_text(lines)
    with open(os.path.join(manifests, "node_manifest_amplifier.txt")) as f:
        (top.parent / "node_manifest_later.txt").write_text(f.read().replace("arm_stream_amplifier", "arm_stream_later"))
    text = tmp_path / "graph.txt"
    text.write_text("format 0\n format_raw_data S16\n format_frame_length 96\n format_sampling_rate 48000\n"
                    "stream_io 0\n stream_io_hwid 4\nstream_io 1\n stream_io_hwid 6\n"
                    "node arm_stream_later 0\n_end_\narc_input 0 arm_stream_later 0 0 0\n"
                    "arc_output 1 arm_stream_later 0 1 0\n")
    image = str(tmp_path / "graph.twg")
    done = subprocess.run([TOOL, "compile", str(text), "-o", image, "--platform", str(top)], capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert "arm_stream_later is not installed in this version's device library" in done.stderr
    assert done.stderr.count("warning:") == 1
    run = subprocess.run([DAEMON, "--platform", PLATFORM, "--graph", image, "--listen", "127.0.0.1:0", "--blocks", "1"],
                         capture_output=True, text=True, timeout=30)
    assert run.returncode == 1
    assert "node type not installed" in run.stderr, run.stderr


DUAL = """graph_name dual
allowed_processors 3
format 0
    format_raw_data         S16
    format_frame_length     512
    format_nbchan           2
    format_domain           audio_in
    format_sampling_rate    16000
stream_io 0
    stream_io_hwid          0
    stream_io_format        0
stream_io 1
    stream_io_hwid          1
    stream_io_format        0
node arm_stream_filter 0
    node_map_proc           {processor}
    node_map_hwblock        0 5
_end_
arc_input  0 arm_stream_filter 0 0 0
arc_output 1 arm_stream_filter 0 1 0
"""


@pytest.mark.parametrize("processor", [1, 2])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_graph_for_two_processors_runs_on_one_thread_and_on_two(tmp_path, processor, threads):
    platform = PLATFORM.replace("platform/top_manifest_computer", "platform_dual/top_manifest_dual")
    text, image = tmp_path / "dual.txt", str(tmp_path / "dual.twg")
    text.write_text(DUAL.format(processor=processor))
    done = subprocess.run([TOOL, "compile", str(text), "-o", image, "--platform", platform], capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    run = subprocess.run([DAEMON, "--platform", platform, "--graph", image, "--listen", "127.0.0.1:0", "--pace", "fast",
                          "--blocks", "20", "--threads", str(threads)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and "stopped after 20 blocks" in run.stderr, run.stderr


def test_two_threads_play_the_example_of_two_processors_as_one_does(tmp_path):
    platform = PLATFORM.replace("platform/top_manifest_computer", "platform_dual/top_manifest_dual")
    image = str(tmp_path / "dual.twg")
    subprocess.run([TOOL, "compile", "examples/two_processors.txt", "-o", image, "--platform", platform], check=True,
                   stdout=subprocess.DEVNULL, timeout=30)
    heard = []
    for threads in (1, 2):
        out = tmp_path / f"speaker_{threads}.wav"
        run = subprocess.run([DAEMON, "--platform", platform, "--graph", image, "--listen", "127.0.0.1:0", "--pace", "fast",
                              "--blocks", "200", "--threads", str(threads), "--io", "io_dual_microphones=ramp", "--io",
                              f"io_dual_speaker={out}"], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        heard.append(out.read_bytes())
    assert len(heard[0]) > 200 * 256 and heard[0] == heard[1]
