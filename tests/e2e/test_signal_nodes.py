"""Coder, generator and resampler in a graph that was compiled, loaded and played: what the files then hold."""
import math
import subprocess

import pytest
from conftest import DAEMON, PLATFORM, compile_graph, read_wav, write_wav

GRAPH = """graph_name signal nodes
format 0                                    ; microphone and loudspeaker
    format_raw_data         S16
    format_frame_length     96
    format_sampling_rate    48000
format 1                                    ; codes
    format_raw_data         U8
    format_frame_length     {coded}
    format_sampling_rate    24000
format 2                                    ; for the application
    format_raw_data         S16
    format_frame_length     294
    format_sampling_rate    44100

stream_io 0
    stream_io_hwid          4
    stream_io_format        0
stream_io 1
    stream_io_hwid          6
    stream_io_format        0
stream_io 2
    stream_io_hwid          9
    stream_io_format        2

node arm_stream_compressor 0
    node_preset             {preset}
node arm_stream_decompressor 0
    node_preset             {preset}
node arm_stream_modulator 0
    node_parameters
        1 u8;   0                           ; all
        1 u8;   1                           ; sine
        2 h16;  8000 0                      ; half, no offset
        1 f32;  997
    _end_
node arm_stream_resampler 0

arc_input  0 arm_stream_compressor 0 0 0
arc arm_stream_compressor 0 1 1 arm_stream_decompressor 0 0 1
arc_output 1 arm_stream_decompressor 0 1 0
arc arm_stream_modulator 0 1 0 arm_stream_resampler 0 0 0
arc_output 2 arm_stream_resampler 0 1 2
"""
CHAIN = """graph_name coded sound into a mixer
format 0
    format_raw_data         S16
    format_frame_length     96
    format_sampling_rate    48000
format 1
    format_raw_data         U8
    format_frame_length     24
    format_sampling_rate    24000
format 2                                    ; where the mixer works
    format_raw_data         FP32
    format_frame_length     192
    format_sampling_rate    48000

stream_io 0
    stream_io_hwid          4
    stream_io_format        0
stream_io 1
    stream_io_hwid          6
    stream_io_format        0
stream_io 2
    stream_io_hwid          9
    stream_io_format        0

node arm_stream_compressor 0
    node_preset             1
node arm_stream_split 0
node arm_stream_decompressor 0
    node_preset             1               ; IMA ADPCM
node arm_stream_converter 0
node arm_stream_modulator 0
    node_parameters
        1 u8;   0
        1 u8;   1
        2 h16;  1000 0
        1 f32;  6000
    _end_
node arm_stream_mixer 0
node arm_stream_filter 0

arc_input  0 arm_stream_compressor 0 0 0
arc arm_stream_compressor 0 1 1 arm_stream_decompressor 0 0 1
arc arm_stream_decompressor 0 1 0 arm_stream_split 0 0 0
arc arm_stream_split 0 1 0 arm_stream_converter 0 0 0
arc_output 2 arm_stream_split 0 2 0
arc arm_stream_converter 0 1 2 arm_stream_mixer 0 0 2
arc arm_stream_modulator 0 1 2 arm_stream_mixer 0 1 2
arc arm_stream_mixer 0 8 2 arm_stream_filter 0 0 2
arc_output 1 arm_stream_filter 0 1 2
"""
BLOCKS = 300


def play(tmp_path, sound, graph):
    text = tmp_path / "graph.txt"
    text.write_text(graph)
    image = compile_graph(text, tmp_path / "graph.twg")
    out, data = str(tmp_path / "line.wav"), str(tmp_path / "data.wav")
    done = subprocess.run([DAEMON, "--platform", PLATFORM, "--graph", image, "--listen", "127.0.0.1:0", "--pace", "fast",
                           "--blocks", str(BLOCKS), "--io", f"audio_in_0=once:{write_wav(tmp_path / 'in.wav', sound)}",
                           "--io", f"line_out_0={out}", "--io", f"data_out_0={data}"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return read_wav(out), read_wav(data)


def db_of_sine(x, turns):
    """Power of the sine of this frequency over all the rest, by least squares."""
    n = len(x)
    c = [math.cos(2 * math.pi * turns * i) for i in range(n)]
    s = [math.sin(2 * math.pi * turns * i) for i in range(n)]
    cc, ss, cs = (sum(a * b for a, b in zip(p, q)) for p, q in ((c, c), (s, s), (c, s)))
    xc, xs = (sum(a * b for a, b in zip(x, p)) for p in (c, s))
    det = cc * ss - cs * cs
    a, b = (xc * ss - xs * cs) / det, (xs * cc - xc * cs) / det
    rest = sum((v - a * p - b * q) ** 2 for v, p, q in zip(x, c, s))
    return 10 * math.log10(sum(v * v for v in x) / rest), math.hypot(a, b)


@pytest.mark.parametrize("coded, preset", [(24, 1), (36, 16)])
def test_coded_sound_and_a_generated_tone_play(tmp_path, coded, preset):
    sound = [round(9000 * math.sin(i * 0.05) * math.sin(i * 0.0003)) for i in range(BLOCKS * 48)]
    line, data = play(tmp_path, sound, GRAPH.format(coded=coded, preset=preset))
    shared = min(len(line), len(sound))
    assert shared >= (BLOCKS - 4) * 48                      # a block waits until it is full
    error = sum((a - b) ** 2 for a, b in zip(line, sound))
    assert 10 * math.log10(sum(v * v for v in sound[:shared]) / error) > 25
    db, amplitude = db_of_sine(data[200:8200], 997 / 44100)
    assert db > 85
    assert abs(amplitude - 16384) < 20


def test_the_published_chain_from_codes_to_the_filter_plays(tmp_path):
    """ADPCM, converter, mixer with a tone, filter: as the sub-graph of the public samples connects them."""
    sound = [round(9000 * math.sin(i * 0.05)) for i in range(BLOCKS * 48)]
    line, _ = play(tmp_path, sound, CHAIN)
    assert len(line) >= (BLOCKS - 4) * 48
    part = line[2000:10000]
    for turns, want in ((0.05 / (2 * math.pi), 9000), (6000 / 48000, 32768 * 0x1000 / 65535)):
        _, amplitude = db_of_sine(part, turns)
        assert abs(amplitude / want - 1) < 0.02
