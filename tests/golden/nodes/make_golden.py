#!/usr/bin/python3
"""Writes <node>.txt beside itself: what each node type must answer, computed here by other means.

The oracles follow the descriptions in the node sources, not their code: integers for Q15, NumPy single
or Python double precision for the rest. Run from anywhere; output is the same every time.

Format of a file, one item a line, '#' starts a comment:
  case <name>                            a fresh node
  formats <raw> <ch> <blocks> <samples>  <raw> <ch> <blocks> <samples>     in and out arc
  preset <p>                             cold RESET with this preset
  script <id>                            cold RESET of a script node
  set <index> <hex bytes>                a SET, as on the wire; must be accepted
  in / out <hex words>                   a RUN: samples in memory order, 4 (S16) or 8 (FP32) digits
  within <x>                             out may differ by this much from here on [LSB, or absolute]
  read <index> <hex bytes>               a READ
  calls <id>/<phase> ...                 script calls since the RESET
"""
import math
import os
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
F = np.float32


def noise(seed):
    while True:
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        yield (seed >> 8) / 2**23 - 1.0


def words(raw, values):
    if raw == "FP32":
        return " ".join(struct.pack(">f", v).hex() for v in values)
    return " ".join("%04x" % (int(v) & 0xFFFF) for v in values)


def f32(*values):
    return b"".join(struct.pack("<f", v) for v in values).hex()


def s16(*values):
    return b"".join(struct.pack("<h", v) for v in values).hex()


class File:
    def __init__(self, node):
        self.path = os.path.join(HERE, node + ".txt")
        self.lines = ["# Made by make_golden.py; do not edit."]

    def add(self, *items):
        self.lines.append(" ".join(str(i) for i in items))

    def case(self, name, raw, ch, blocks, samples, raw2=None, ch2=None, preset=0):
        self.add("case", name)
        self.add("formats", raw, ch, blocks, samples, raw2 or raw, ch2 or ch, blocks, samples)
        self.add("preset", preset)

    def run(self, raw, x, y, raw2=None):
        self.add("in", words(raw, x))
        self.add("out", words(raw2 or raw, y))

    def write(self):
        with open(self.path, "w") as f:
            f.write("\n".join(self.lines) + "\n")


# ---- filter -------------------------------------------------------------------
BAND = [[681, 422, 681, 23853, -15161], [681, -1342, 681, 26261, -15331]]


class Q15:
    """Exact integers, floor, saturation."""

    def __init__(self, coef, shift):
        self.coef, self.shift = coef, shift
        self.s = [[0, 0, 0, 0] for _ in coef]

    def __call__(self, x):
        for c, s in zip(self.coef, self.s):
            y = (c[0] * x + c[1] * s[0] + c[2] * s[1] + c[3] * s[2] + c[4] * s[3]) // 2 ** (15 - self.shift)
            y = max(-32768, min(32767, y))
            s[:] = [x, s[0], y, s[2]]
            x = y
        return x


class Double:
    def __init__(self, coef):
        self.coef = coef
        self.s = [[0.0] * 4 for _ in coef]

    def step(self, x):
        for c, s in zip(self.coef, self.s):
            y = c[0] * x + c[1] * s[0] + c[2] * s[1] + c[3] * s[2] + c[4] * s[3]
            s[:] = [x, s[0], y, s[2]]
            x = y
        return x


def interleave(frames_by_channel, blocks):
    """Lists of samples, one a channel -> memory order of one frame."""
    if blocks:
        return [v for ch in frames_by_channel for v in ch]
    return [v for t in zip(*frames_by_channel) for v in t]


def filter_file():
    f = File("filter")
    rnd = noise(1)
    f.case("bypass", "S16", 1, 0, 4)
    f.run("S16", [1, -1, 32767, -32768], [1, -1, 32767, -32768])
    f.case("low-pass preset, impulse", "S16", 1, 0, 6, preset=2)
    q = Q15([[9597, 19196, 9597, 0, -5622]], 0)
    x = [20000, 0, 0, 0, 0, 0]
    f.run("S16", x, [q(v) for v in x])
    f.case("delay of 5, two channels in blocks", "FP32", 2, 1, 4, preset=15)
    f.run("FP32", [1, 2, 3, 4, -1, -2, -3, -4], [0] * 8)
    f.run("FP32", [5, 6, 7, 8, -5, -6, -7, -8], [0, 1, 2, 3, 0, -1, -2, -3])
    for blocks in (0, 1):
        f.case("band-pass, three channels, blocks %d" % blocks, "S16", 3, blocks, 21)
        f.add("set", 256, "0201" + s16(*BAND[0]) + s16(*BAND[1]))
        qs = [Q15(BAND, 1) for _ in range(3)]
        for _ in range(3):
            chans = [[int(30000 * next(rnd)) for _ in range(21)] for _ in range(3)]
            outs = [[q(v) for v in ch] for q, ch in zip(qs, chans)]
            f.run("S16", interleave(chans, blocks), interleave(outs, blocks))
    coef = [[0.284277, 0.455582, 0.284277, 0.780535, -0.340176], [0.284277, 0.175059, 0.284277, 0.284669, -0.811514]]
    f.case("low-pass at 0.45 Fs/2, single precision", "FP32", 1, 0, 33)
    f.add("set", 256, "0200" + f32(*coef[0]) + f32(*coef[1]))
    f.add("within", "2e-6")
    d = Double([[float(F(v)) for v in c] for c in coef])
    for _ in range(3):
        x = [float(F(next(rnd))) for _ in range(33)]
        f.run("FP32", x, [d.step(v) for v in x])
    f.write()


# ---- amplifier ------------------------------------------------------------------
def scale_q15(x, gain):
    p = F(x) * F(gain)
    y = math.floor(abs(float(p)) + 0.5)
    return max(-32768, min(32767, int(math.copysign(y, float(p)))))


def amplifier_file():
    f = File("amplifier")
    x = [-32768, -12345, -3, -1, 0, 1, 3, 999, 8192, 32767]
    for code, gain in (("0508", 1.0), ("0308", 4.0), ("060c", 0.75), ("0508", 1.0)):
        f.case("gain code %s" % code, "S16", 1, 0, 10)
        f.add("set", 2, code)
        f.run("S16", x, [scale_q15(v, gain) for v in x])
    f.case("boot block, then a ramp with slope 3 from 1 to 0.25", "FP32", 2, 0, 8)
    f.add("set", 256, "03" "0508" "00" "0000" "0000")
    f.run("FP32", [0.5, -0.5] * 2, [0.5, -0.5] * 2)
    f.add("set", 7, f32(0.25))
    f.add("within", "1e-6")
    gains = [0.25 + 0.75 * (1 - 1 / 8) ** (n + 1) for n in range(24)]
    for k in range(3):
        g = gains[8 * k : 8 * k + 8]
        f.run("FP32", [1.0, -2.0] * 8, [v * s for v in g for s in (1.0, -2.0)])
    f.case("mute after 5 samples, at once, and back after 3", "S16", 1, 0, 8, preset=1)
    f.add("set", 256, "00" "0508" "00" "0300" "0500")
    f.run("S16", [100] * 8, [100] * 8)
    f.add("set", 3, "01")
    f.run("S16", [100] * 8, [100] * 5 + [0] * 3)
    f.add("set", 3, "00")
    f.run("S16", [100] * 8, [0] * 3 + [100] * 5)
    f.add("read", 256, "00050800" "0300" "0500")
    f.case("muted preset", "S16", 1, 0, 2, preset=2)
    f.run("S16", [100, -100], [0, 0])
    f.write()


# ---- detector --------------------------------------------------------------------
def rate(code):
    return min(1.0, (code >> 5) / 4 / 2 ** (code & 31))


def detect(p, xs):
    """The block diagram of node_detector.c in double precision, one channel, full scale 1."""
    counter, decf, hp, lp, fp, rise, fall, thr = p
    quiet = 10 ** (-90 / 20)
    on = 10 ** (thr / 20)
    off = 10 ** ((thr - 3 if thr > 6 else thr / 2) / 20)
    mean = xs[0] if hp else 0.0
    env, floor, peak, over, hold, out = 0.0, quiet, quiet, False, 0, []
    warm = 4 << max(hp, lp)
    for n, x in enumerate(xs):
        if hp:
            mean += (x - mean) / 2**hp
        env += (abs(x - mean) - env) / 2**lp
        if n % 2**decf == 0:
            e = max(env, quiet)
            if n < warm:
                floor = peak = e
            else:
                floor += (e - floor) * (2.0**-fp if e < floor else rate(rise))
                peak += (e - peak) * (2.0**-fp if e > peak else rate(fall))
                over = peak >= floor * (off if over else on)
        hold = 2**counter if over else max(0, hold - 1)
        out.append(hold > 0)
    return out


def detector_file():
    f = File("detector")
    rnd = noise(77)
    cases = (
        (2, [10, 3, 5, 7, 1, 0x80 | 13, 0x80 | 6, 10], 5500, 1500, 2000, "S16", "S16"),
        (5, [4, 0, 3, 3, 4, 0x80 | 10, 0x80 | 4, 10], 600, 200, 230, "FP32", "FP32"),
        (1, [5, 0, 0, 2, 3, 0x80 | 12, 0x80 | 3, 14], 600, 300, 310, "S16", "FP32"),
    )
    for preset, p, n, start, end, raw, other in cases:
        f.case("preset %d, %s to %s" % (preset, raw, other), raw, 1, 0, n, other, 1, preset=preset)
        tone = [0.05 * math.sin(0.4 * i) if start <= i < end else 0.0 for i in range(n)]
        x = [0.002 * next(rnd) + t for t in tone]
        x = [round(v * 32768) for v in x] if raw == "S16" else [float(F(v)) for v in x]
        flags = detect(p, [v / 32768 if raw == "S16" else v for v in x])
        assert any(flags) and not flags[start - 1] and not flags[-1]
        f.run(raw, x, [(1.0 if other == "FP32" else 32767) if a else 0 for a in flags], other)
    f.write()


def script_file():
    f = File("script")
    f.add("case", "two RUNs")
    f.add("script", 7)
    f.add("calls", "7/0")
    for _ in range(2):
        f.add("in")
        f.add("out")
    f.add("calls", "7/0 7/1 7/1")
    f.write()


filter_file()
amplifier_file()
detector_file()
script_file()
