#!/usr/bin/python3
"""Writes <node>.txt beside itself: what each node type must answer, computed here by other means.

The oracles follow the descriptions in the node sources, not their code: integers for Q15, NumPy single
or Python double precision for the rest. Run from anywhere; output is the same every time.

Format of a file, one item a line, '#' starts a comment:
  case <name>                            a fresh node
  formats <raw> <ch> <blocks> <samples>  <raw> <ch> <blocks> <samples>     in and out arc
  preset <p>                             cold RESET with this preset
  script <id>                            cold RESET of a script node
  also <rate> <ts> <ts size> <unit>  ...  more about both formats (default 16000 0 0 0), before the preset
  picture <w> <h> <w> <h>                both formats are pictures of these sizes, before the preset
  set <index> <hex bytes>                a SET, as on the wire; must be accepted
  arcs <rx> <tx>                         as many arcs of these formats, before the preset
  arc-in <arc> <hex words>               what a receive arc holds in the next `run`
  run <bytes>                            a RUN with this room on each transmit arc; uses and fills all arcs
  arc-out <arc> <hex words>              what a transmit arc got in it
  in / out <hex words>                   a RUN: samples in memory order, 4 (S16) or 8 (FP32) digits
  bytes-in / bytes-out <hex>             a RUN: as in memory, the same on every output, to the byte
  within <x>                             out may differ by this much from here on [LSB, or absolute]
  read <index> <hex bytes>               a READ
  calls <id>/<phase> ...                 script calls since the RESET
"""
import math
import os
import struct
from fractions import Fraction

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


# ---- split and converter -----------------------------------------------------------
# name: (struct letter, value bits, word of 1.0); floating types: (letter, 0, 1)
TYPES = {
    "S8": ("b", 8, 2**7), "U8": ("B", 8, 2**8), "Q7": ("b", 8, 2**7), "CHAR": ("B", 8, 2**8),
    "S16": ("h", 16, 2**15), "U16": ("H", 16, 2**16), "Q15": ("h", 16, 2**15), "FP16": ("e", 0, 1),
    "Q23_32": ("i", 24, 2**23), "S32": ("i", 32, 2**31), "U32": ("I", 32, 2**32), "Q31": ("i", 32, 2**31),
    "FP32": ("f", 0, 1), "FP64": ("d", 0, 1), "TIME16": ("H", 16, 2**2), "TIME16D": ("H", 16, 2**15),
    "TIME32": ("I", 32, 2**4), "TIME32D": ("I", 32, 2**15), "TIMESTMP": ("I", 32, 2**12),
}


def to_bytes(raw, value):
    """An exact number as one sample: nearest, ties to even, ends of the range beyond them."""
    letter, bits, one = TYPES[raw]
    if bits == 0:
        top = {"e": Fraction(65504), "f": Fraction(float(np.finfo(np.float32).max)), "d": None}[letter]
        v = value if top is None else max(-top, min(top, value))
        if letter == "e":  # by numpy: struct rounds the same way but refuses what rounds to infinity
            return np.float16(float(v)).tobytes()
        return struct.pack("<" + letter, F(float(v)) if letter == "f" else float(v))
    signed = letter.islower()
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return struct.pack("<" + letter, max(low, min(high, round(value * one))))


def from_bytes(raw, data):
    letter, bits, one = TYPES[raw]
    return Fraction(struct.unpack("<" + letter, data)[0]) / one


def samples_of(rnd, raw, n):
    """Words of a type, its ends first."""
    letter, bits, one = TYPES[raw]
    if bits == 0:
        return [to_bytes(raw, Fraction(v)) for v in [1, -1, 0, Fraction(1, 3)] + [next(rnd) for _ in range(n - 4)]]
    signed = letter.islower()
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    words = [low, high, 0, 1] + [int((next(rnd) + 1) / 2 * (high - low)) + low for _ in range(n - 4)]
    return [struct.pack("<" + letter, w) for w in words]


def converter_file():
    f = File("converter")
    rnd = noise(5)

    def case(name, one, other, x, y, also=None):
        f.add("case", name)
        f.add("formats", *one, *other)
        if also:
            f.add("also", *also)
        f.add("preset", 0)
        f.add("bytes-in", x.hex())
        f.add("bytes-out", y.hex())

    for a in TYPES:
        for b in TYPES:
            x = samples_of(rnd, a, 8)
            y = [to_bytes(b, from_bytes(a, v)) for v in x]
            case("%s to %s" % (a, b), (a, 1, 0, 8), (b, 1, 0, 8), b"".join(x), b"".join(y))
    s = lambda *v: b"".join(struct.pack("<h", i) for i in v)
    case("mono to three, in blocks", ("S16", 1, 0, 3), ("S16", 3, 1, 3), s(1, 2, 3), s(1, 2, 3) * 3)
    case("three to mono, the mean", ("S16", 3, 1, 2), ("S16", 1, 0, 2), s(1, 10, 2, 20, 9, 31), s(4, 20))
    case("four to two, the first", ("S16", 4, 0, 2), ("S16", 2, 1, 2), s(1, 2, 3, 4, 5, 6, 7, 8), s(1, 5, 2, 6))
    case("two to four, zeros", ("S16", 2, 1, 2), ("S16", 4, 0, 2), s(1, 2, 3, 4), s(1, 3, 0, 0, 2, 4, 0, 0))
    case("frames of 4 to 3 with a counter", ("S16", 1, 0, 4), ("S16", 1, 0, 3), s(*range(12)),
         b"".join(struct.pack("<H3h", k, *range(3 * k, 3 * k + 3)) for k in range(4)), (16000, 0, 0, 0, 16000, 3, 0, 0))
    case("stamps carried over and widened", ("S16", 1, 0, 2), ("FP32", 1, 0, 2),
         struct.pack("<I2hI2h", 7, 16384, -8192, 0xFFFFFFFF, 0, 1),
         struct.pack("<Q2fQ2f", 7, 0.5, -0.25, 0xFFFFFFFF, 0, 1 / 32768), (16000, 1, 1, 0, 16000, 1, 2, 0))
    case("bits: low end first", ("U1", 1, 0, 12), ("S8", 1, 0, 12), bytes([0b10110001, 0b1010]),
         bytes(127 if b else 0 for b in (1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1)))
    case("to bits", ("S8", 1, 0, 12), ("U1", 1, 0, 12), bytes([100, 64, 65, 0, 156, 127] * 2),
         bytes([0b01100101, 0b1001]))
    case("complex to its real part", ("CQ15", 1, 0, 2), ("FP32", 1, 0, 2), s(16384, 99, -32768, 77),
         struct.pack("<2f", 0.5, -1))
    case("real to complex", ("FP32", 1, 0, 2), ("CFP32", 1, 0, 2), struct.pack("<2f", 0.5, -1),
         struct.pack("<4f", 0.5, 0, -1, 0))
    case("mV to V", ("FP32", 1, 0, 2), ("FP64", 1, 0, 2), struct.pack("<2f", 1500, -250), struct.pack("<2d", 1.5, -0.25),
         (16000, 0, 0, 87, 16000, 0, 0, 17))
    f.add("case", "16 to 24 kHz")
    f.add("formats", "FP32", 1, 0, 64, "FP32", 1, 0, 96)
    f.add("also", 16000, 0, 0, 0, 24000, 0, 0, 0)
    f.add("preset", 0)
    f.add("within", "2e-6")
    past = [0.0] * 63
    for k in range(3):
        x = [float(F(next(rnd))) for _ in range(64)]
        y = [resampled(past + x, 63, q * 2, 3, 2) for q in range(96)]
        f.run("FP32", x, y)
        past = x[-63:]
    f.write()


def resampled(x, first, at, up, down):
    """Output at `at` / up samples behind x[first]: resample.h's definition, by numpy, for up >= down."""
    half = 32
    newest, phase = first + at // up, at % up
    u = np.arange(2 * half) + phase / up - half
    g = np.sinc(2 * 0.45 * u) * np.i0(10.06 * np.sqrt(np.maximum(0, 1 - (u / half) ** 2)))
    return float(np.dot(g, [x[newest - j] for j in range(2 * half)]) / g.sum())


def split_file():
    f = File("split")
    rnd = noise(6)
    for raw in ("S16", "CFP32", "Q23", "FP256"):
        size = {"S16": 2, "CFP32": 8, "Q23": 3, "FP256": 32}[raw]
        f.add("case", "%s to fifteen" % raw)
        f.add("formats", raw, 2, 0, 4, raw, 2, 0, 4)
        f.add("preset", 0)
        for _ in range(2):
            data = bytes(int((next(rnd) + 1) * 128) for _ in range(8 * size)).hex()
            f.add("bytes-in", data)
            f.add("bytes-out", data)
    f.write()


# ---- IMA ADPCM ------------------------------------------------------------------------
# The definition in words of its own: the steps by their law where it holds, the rest as published.
IMA_STEPS = [7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88,
             97, 107, 118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658,
             724, 796, 876, 963, 1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660,
             4026, 4428, 4871, 5358, 5894, 6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818,
             18500, 20350, 22385, 24623, 27086, 29794, 32767]


class Ima:
    def __init__(self, predictor=0, index=0):
        self.predictor, self.index = predictor, index

    def decode(self, code):
        step, size = IMA_STEPS[self.index], code % 8
        change = step // 8 + sum(step // 2**k for k in range(3) if size & (4 >> k))
        self.predictor = max(-32768, min(32767, self.predictor - change if code >= 8 else self.predictor + change))
        self.index = max(0, min(88, self.index + (-1 if size < 4 else 2 * size - 6)))
        return self.predictor

    def encode(self, x):
        step, rest = IMA_STEPS[self.index], abs(x - self.predictor)
        size = 0
        for k in range(3):
            if rest >= step >> k:
                size |= 4 >> k
                rest -= step >> k
        code = size + (8 if x < self.predictor else 0)
        self.decode(code)
        return code


def ima_stream(chans):
    """Codes of interleaved channels, high half first; and what comes back."""
    coders = [Ima() for _ in chans]
    codes, back = [], [[] for _ in chans]
    for t in range(len(chans[0])):
        for c, coder in enumerate(coders):
            codes.append(coder.encode(chans[c][t]))
            back[c].append(coder.predictor)
    return bytes(codes[i] << 4 | codes[i + 1] for i in range(0, len(codes), 2)), back


def ima_blocks(chans, block):
    """Blocks of a WAV file's IMA ADPCM; and what comes back."""
    n = 1 + 8 * (block // (4 * len(chans)) - 1)
    data, back, index = b"", [[] for _ in chans], [0] * len(chans)
    for at in range(0, len(chans[0]) - n + 1, n):
        head, codes = b"", []
        for c, x in enumerate(chans):
            coder = Ima(x[at], index[c])
            head += struct.pack("<hBB", x[at], index[c], 0)
            back[c].append(x[at])
            codes.append([coder.encode(v) for v in x[at + 1:at + n]])
            index[c] = coder.index
            again = Ima(x[at], head[4 * c + 2])
            back[c] += [again.decode(k) for k in codes[c]]
        for g in range(0, n - 1, 8):
            for c in codes:
                head += bytes(c[g + 2 * i] | c[g + 2 * i + 1] << 4 for i in range(4))
        data += head.ljust(block, b"\0")
    return data, back


def cvsd(x):
    """Bits from the low end, and what comes back."""
    estimate, slope, last, bits, back = 0, 10 * 1024, [0, 0, 0, 0], [], []
    for v in x:
        bit = int(v * 1024 >= estimate)
        last = last[1:] + [bit]
        slope = min(slope + 10240, 1280 * 1024) if sum(last) in (0, 4) else max(slope - slope // 1024, 10240)
        y = max(-32767 * 1024, min(32767 * 1024, estimate + slope if bit else estimate - slope))
        estimate = y - y // 32
        bits.append(bit)
        back.append((estimate + 512) // 1024)
    return bytes(sum(bits[k + i] << i for i in range(8)) for k in range(0, len(bits), 8)), back


def speech(rnd, n, pitch):
    """Something like it: pulses through two formants, loud and soft by turns, with some breath."""
    y, a, b = [], [0.0, 0.0], [0.0, 0.0]
    for t in range(n):
        x = (1.0 if t % pitch == 0 else 0.0) + 0.02 * next(rnd)
        a = [x + 1.8 * math.exp(-0.05) * math.cos(0.35) * a[0] - 0.81 * a[1], a[0]]
        b = [a[0] + 1.7 * math.cos(0.9) * b[0] - 0.72 * b[1], b[0]]
        y.append(b[0] * (0.2 + 0.8 * math.sin(t / 700.0) ** 2))
    top = max(map(abs, y))
    return [int(round(28000 * v / top)) for v in y]


def check_with_audioop(x, data, back):
    """The same algorithm as others wrote it, where this Python still has it."""
    try:
        import audioop
    except ImportError:
        return
    pcm = struct.pack("<%dh" % len(x), *x)
    assert audioop.lin2adpcm(pcm, 2, None)[0] == data
    assert audioop.adpcm2lin(data, 2, None)[0] == struct.pack("<%dh" % len(x), *back)


def ima_files():
    enc, dec = File("compressor"), File("decompressor")
    rnd = noise(9)

    def case(name, fmt, coded, preset, pcm, data, back, preset_back=None):
        for f, x, y in ((enc, pcm, data), (dec, data, back)):
            f.add("case", name)
            f.add("formats", *((*fmt, *coded) if f is enc else (*coded, *fmt)))
            f.add("preset", preset_back if f is dec and preset_back else preset)
            f.add("bytes-in", x.hex())
            f.add("bytes-out", y.hex())

    def pack(chans, samples, blocks):
        frames = range(0, len(chans[0]), samples)
        flat = [v for at in frames for v in interleave([c[at:at + samples] for c in chans], blocks)]
        return struct.pack("<%dh" % len(flat), *flat)

    whole = [-32768, 32767] * 20 + [0] * 24
    signals = {"random words": [int(32767 * next(rnd)) for _ in range(2000)], "speech": speech(rnd, 4000, 71),
               "ends of the range": whole, "silence": [0] * 64}
    for name, x in signals.items():
        data, back = cvsd(x)
        case("CVSD, %s" % name, ("S16", 1, 0, 16), ("U8", 1, 0, 2), 3, pack([x], 16, 0), data, pack([back], 16, 0), 4)
        data, back = ima_stream([x])
        check_with_audioop(x, data, back[0])
        case(name, ("S16", 1, 0, 16), ("U8", 1, 0, 4), 1, pack([x], 16, 0), data, pack(back, 16, 0))
    for blocks in (0, 1):
        chans = [speech(rnd, 480, 53 + 7 * c) for c in range(3)]
        data, back = ima_stream(chans)
        case("three channels, layout %d" % blocks, ("S16", 3, blocks, 20), ("HEXBINARY", 1, 0, 15), 0,
             pack(chans, 20, blocks), data, pack(back, 20, blocks))
        chans = [speech(rnd, 41 * 20, 53 + 7 * c) for c in range(2)]
        data, back = ima_blocks(chans, 50)
        case("blocks of two channels, layout %d" % blocks, ("Q15", 2, blocks, 41), ("U8", 1, 0, 50), 16,
             pack(chans, 41, blocks), data, pack(back, 41, blocks))
    enc.write()
    dec.write()


# ---- modulator --------------------------------------------------------------------------
def near(t, dt):
    """How near a phase [turns] is to an edge at 0, with its side."""
    s = (t + 0.5) % 1.0 - 0.5
    return max(0.0, 1 - abs(s) / dt), s >= 0


def jump(t, dt):
    w, after = near(t, dt)
    return w * w if after else -w * w


def wave_of(kind, t, dt, duty=0.5):
    """One sample in double precision, from the phase [turns]."""
    t %= 1.0
    if kind == 1:
        return math.sin(2 * math.pi * t)
    if kind in (2, 7):
        y = (1 if t < duty else -1) - jump(t, dt) + jump(t - duty, dt)
        return y if kind == 2 else 0.5 + 0.5 * y
    if kind == 5:
        return 2 * t - 1 + jump(t, dt)
    if kind == 6:
        y = 4 * t if t < 0.25 else 2 - 4 * t if t < 0.75 else 4 * t - 4
        return y + 4 / 3 * dt * (near(t - 0.75, dt)[0] ** 3 - near(t - 0.25, dt)[0] ** 3)
    raise ValueError(kind)


def block(wave, amplitude, offset, f, phase, mod, source, a, b, fmod):
    return struct.pack("<BHhfhBBhhf", wave, amplitude, offset, f, phase, mod, source, a, b, fmod).hex()


def modulator_file():
    f = File("modulator")
    rate, n = 16000.0, 96

    def case(name, params, x, ys, raw="FP32", raw_in="Q15", within="4e-7", samples=n, chans=1, blocks=0):
        f.add("case", name)
        f.add("formats", raw_in, 1, 0, samples, raw, chans, blocks, samples)
        f.add("preset", 0)
        f.add("set", 256, params)
        f.add("within", within)
        for k in range(0, len(ys), samples):
            f.run(raw_in, x[k:k + samples] if x else [0] * samples, ys[k:k + samples], raw)

    for kind, name in ((1, "sine"), (2, "square"), (5, "saw"), (6, "triangle"), (7, "pulse")):
        for hz in (440.0, 1375.5):
            dt = hz / rate
            ys = [wave_of(kind, t * dt + 0.1875, dt) for t in range(2 * n)]
            case("%s at %g Hz" % (name, hz), block(kind, 65535, 0, hz, 12288, 0, 0, 0, 0, 0), None, ys, within="2e-5")
            case("%s at %g Hz in S16, half of it, raised" % (name, hz), block(kind, 32768, 8192, hz, 12288, 0, 0, 0, 0, 0),
                 None, [32768 * (32768 / 65535 * y + 0.25) for y in ys], "S16", within=1.5)
    seed, ys = 1, []
    for _ in range(n):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        v = seed & 0xFFFFFF00
        ys.append((v - (v >> 31 << 32)) / 2**31)
    case("white noise", block(3, 65535, 0, 0, 0, 0, 0, 0, 0, 0), None, ys, within=0)
    rnd = noise(31)
    x = [int(32767 * next(rnd)) for _ in range(n)]
    case("pattern", block(8, 65535, 0, 0, 0, 0, 0, 0, 0, 0), x, [v / 32768 for v in x], within=0)
    ys, t = [], 0.0
    for v in x:
        ys.append(math.sin(2 * math.pi * t) * (0.5 * v / 32768 + 0.5))
        t += 1000 / rate
    case("amplitude by words", block(1, 65535, 0, 1000, 0, 0, 2, 16384, 16384, 0), x, ys)
    ys, t = [], 0.0
    for v in x:
        ys.append(math.sin(2 * math.pi * t))
        t += 1000 / rate * (1 + 0.25 * v / 32768)
    case("frequency by words, a quarter of it", block(1, 65535, 0, 1000, 0, 1, 2, 8192, 0, 0), x, ys, within="2e-5")
    bits = [int(next(rnd) > 0) for _ in range(12)]
    ys, t = [], 0.0
    for b in bits:
        for _ in range(16):
            ys.append(math.sin(2 * math.pi * t))
            t += (1500 + (500 if b else -500)) / rate
    # bits of a byte from its low end
    data = bytes(sum(bits[k + i] << i for i in range(min(8, len(bits) - k))) for k in range(0, len(bits), 8))
    f.add("case", "shift keying by bits, 1000 a second, 1000 and 2000 Hz")
    f.add("formats", "U1", 1, 0, 12, "S16", 1, 0, 192)
    f.add("preset", 0)
    f.add("set", 256, block(1, 65535, 0, 1500, 0, 2, 1, 16384, 0, 1000))
    f.add("bytes-in", data.hex())
    f.add("bytes-out", struct.pack("<192h", *[max(-32768, min(32767, round(32768 * y))) for y in ys]).hex())
    f.add("case", "PWM, three quarters, in two channels")
    f.add("formats", "U8", 1, 0, 8, "S16", 2, 1, 32)
    f.add("preset", 0)
    f.add("set", 256, block(10, 65535, 0, 1000, 0, 0, 0, 0, 16384, 0))
    f.add("bytes-in", "00" * 8)
    f.add("bytes-out", struct.pack("<64h", *([32767 if k % 16 < 12 else -32768 for k in range(32)] * 2)).hex())
    for kind, name in ((11, "ramp"), (12, "step")):
        ys = [1.0 if k >= 32 else k / 32 if kind == 11 else 0.0 for k in range(n)]
        case(name, block(kind, 65535, 0, 500, 0, 0, 0, 0, 0, 0), None, ys, within=0)
    f.write()


# ---- resampler ------------------------------------------------------------------------
def prototype(u, low, half):
    """g of resample.h at u input samples from its centre, not scaled."""
    return np.sinc(2 * 0.45 * low * u) * np.i0(10.06 * np.sqrt(np.maximum(0, 1 - (u / half) ** 2)))


def resample(x, n, up, down):
    """n outputs for a signal that begins after silence, in double precision."""
    low = min(1, up / down)
    half = math.ceil(32 / low)
    past = np.concatenate([np.zeros(2 * half - 1), x])
    y = []
    for q in range(0, n * down, down):
        g = prototype(np.arange(2 * half) + q % up / up - half, low, half)
        y.append(float(np.dot(g, past[q // up:q // up + 2 * half][::-1]) / g.sum()))
    return y


def check_with_scipy(x, y, up, down):
    """The same filter in another's hands, where the delay is a whole number of outputs."""
    try:
        from scipy.signal import resample_poly
    except ImportError:
        return
    low = min(1, up / down)
    half = math.ceil(32 / low)
    h = prototype(np.arange(-half * up, half * up + 1) / up, low, half)
    other = resample_poly(x, up, down, window=h / h.sum())
    late = half * up // down
    assert np.abs(np.array(y[late:]) - other[:len(y) - late]).max() < 2e-5


def resampler_file():
    f = File("resampler")
    rnd = noise(14)
    for name, up, down, rates, n, m in (("16 to 48 kHz", 3, 1, (16000, 48000), 80, 240),
                                        ("48 to 16 kHz", 1, 3, (48000, 16000), 240, 80),
                                        ("48 to 44.1 kHz", 147, 160, (48000, 44100), 160, 147)):
        for raw in ("FP32", "S16"):
            f.add("case", "%s, %s" % (name, raw))
            f.add("formats", raw, 1, 0, n, raw, 1, 0, m)
            f.add("also", rates[0], 0, 0, 0, rates[1], 0, 0, 0)
            f.add("preset", 0)
            f.add("within", "1.01" if raw == "S16" else "2e-6")
            x = [0.6 * next(rnd) for _ in range(3 * n)]
            x = [float(F(v)) if raw == "FP32" else round(v * 32768) / 32768 for v in x]
            y = resample(np.array(x), 3 * m, up, down)
            if math.ceil(32 / min(1, up / down)) * up % down == 0:
                check_with_scipy(x, y, up, down)
            for k in range(3):
                one = 1 if raw == "FP32" else 32768
                a, b = x[k * n:k * n + n], y[k * m:k * m + m]
                f.run(raw, [one * v for v in a], [v if one == 1 else round(one * v) for v in b], raw)
    f.write()


# ---- demodulator ----------------------------------------------------------------------
def uart(data):
    bits = [1] * 20
    for byte in data:
        bits += [0] + [byte >> i & 1 for i in range(8)] + [1]
    return bits + [1] * 4


def line_of(kind, bits, per_bit, rate):
    """The voltage of each sample, made from the bits' times."""
    x, turns = [], 0.0
    for k in range(int(len(bits) * per_bit)):
        bit = bits[int(k / per_bit)]
        if kind == "level":
            x.append(0.3 if bit else -0.3)
        elif kind == "keyed":
            x.append(0.5 * math.sin(2 * math.pi * 38000 / rate * k) if bit else 0.0)
        else:
            x.append(0.25 * math.sin(2 * math.pi * turns))
            turns += (1200 if bit else 2200) / rate
    return [round(32767 * v) for v in x]


def demodulator_file():
    f = File("demodulator")
    text = b"Tunewire 0x55\xaa\x00\xff"
    remote = [0, 1] * 4 + [1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 0]
    for name, preset, kind, bits, rate, baud, out in (
            ("UART at 9600 over an ADC", 1, "level", uart(text), 96000, 9600, text),
            ("Bell 202", 3, "shifted", uart(text), 48000, 1200, text),
            ("infrared bits", 2, "keyed", remote + [0, 0], 192000, 1e6 / 560, bytes(remote[1:] + [0]))):
        x = line_of(kind, bits, rate / baud, rate)
        f.add("case", name)
        f.add("formats", "S16", 1, 0, 1, "U8", 1, 0, 1)
        f.add("also", rate, 0, 0, 0, 0, 0, 0, 0)
        f.add("preset", preset)
        f.add("bytes-in", struct.pack("<%dh" % len(x), *x).hex())
        f.add("bytes-out", out.hex())
    f.write()


ima_files()
modulator_file()
demodulator_file()
resampler_file()
# ---- features ------------------------------------------------------------------
def hann(n):
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def tone(n, *parts):
    """Sum of (cycles a sample, amplitude), rounded to what an FP32 arc carries."""
    return np.float32(sum(a * np.sin(2 * np.pi * f * np.arange(n) + 0.3) for f, a in parts)).astype(np.float64)


def analysis_file():
    f = File("analysis")
    rnd = noise(7)

    def case(name, results, preset, x, y, within, block=0, more=()):
        f.add("case", name)
        f.add("formats FP32 1 0", len(x), "FP32 1 0", results)
        f.add("preset", preset)
        if block:
            f.add("set 1", struct.pack("<H", block).hex())
        for item in more:
            f.add(item)
        f.add("within", within)
        f.run("FP32", x, y)

    case("frequency by prediction", 1, 1, tone(512, (0.0375, 0.4)) + 0.125, [600], 0.05)
    x = tone(480, (0.0125, 0.4))
    case("energy beside a constant", 2, 2, x + 0.25, [np.std(x), 0.25 + np.mean(x)], 1e-6)
    x = tone(800, (0.05, 0.5), (0.11, 0.03))
    amplitude = [2 * abs(np.dot(x, np.exp(-2j * np.pi * hz / 16000 * np.arange(800)))) / 800 for hz in (800, 1760, 5000)]
    case("three tones", 3, 3, x, amplitude, 1e-5, more=["set 3 " + f32(800, 1760, 5000)])
    for bins in (32, 64, 256):
        n = 2 * bins
        x = np.float32(tone(n, (0.1, 0.5)) + [0.01 * next(rnd) for _ in range(n)]).astype(np.float64)
        size = 2 * np.abs(np.fft.rfft(x * hann(n)))[:bins] / hann(n).sum()
        size[0] /= 2
        case("spectrum of %d bins" % bins, bins, 4, x, 20 * np.log10(size), 0.01)
    case("drift of a still signal", 1, 5, np.full(64, 0.03125), [0.03125], 1e-7)
    f.write()


def cepstrum(x, n_fft, n_mel, low, high, rate, n_coef):
    def mel(hz):
        return 1127 * np.log(1 + np.asarray(hz) / 700)

    size = np.abs(np.fft.rfft(x * hann(len(x)), n_fft))
    points = np.linspace(mel(low), mel(high), n_mel + 2)
    bins = mel(np.arange(n_fft // 2 + 1) * rate / n_fft)
    up = (bins[None] - points[:-2, None]) / (points[1] - points[0])
    down = (points[2:, None] - bins[None]) / (points[1] - points[0])
    ln = np.log(np.maximum(0, np.minimum(up, down)) @ size + 1e-6)
    k, m = np.arange(n_coef)[:, None], np.arange(n_mel)[None]
    return np.sqrt(2 / n_mel) * (np.cos(np.pi * k * (m + 0.5) / n_mel) @ ln)


def mfcc_file():
    f = File("mfcc")
    rnd = noise(8)
    x = np.float32(tone(1024, (0.02, 0.3), (0.17, 0.1)) + [0.05 * next(rnd) for _ in range(1024)]).astype(np.float64)
    for raw, unit in (("FP32", 1), ("Q15", 512), ("S16", 512)):
        f.add("case", "small front end to", raw)
        f.add("formats FP32 1 0 512", raw, "1 0 16")
        f.add("preset 3")
        f.add("within", 2e-4 if raw == "FP32" else 1)
        for at in (0, 512):
            y = cepstrum(x[at:at + 512], 512, 20, 100, 4000, 16000, 16)
            f.run("FP32", x[at:at + 512], y if raw == "FP32" else np.round(y * unit), raw)
    f.write()


def noise_suppression_file():
    f = File("noise_suppression")
    rnd = noise(9)
    f.case("at 0 dB a frame late", "S16", 1, 0, 160)
    f.add("set 1 00")
    f.add("within 2")
    x = [int(6000 * math.sin(0.05 * i) + 500 * next(rnd)) for i in range(5 * 160)]
    for frame in range(5):
        now = x[160 * frame:160 * frame + 160]
        if frame < 2:  # the overlap fills up
            f.add("within 40000")
        else:
            f.add("within 2")
        f.run("S16", now, x[160 * (frame - 1):160 * frame] if frame else [0] * 160)
    f.write()


# ---- pictures ------------------------------------------------------------------
def filter2d_file():
    f = File("filter2D")
    rnd = noise(10)
    w, h = 9, 7
    picture = np.array([[int((next(rnd) + 1) * 127.99) for _ in range(w)] for _ in range(h)])

    def put(name, preset, out, *more):
        f.add("case", name)
        f.add("formats U8 1 0 1 U8 1 0 1")
        f.add("picture", w, h, out.shape[1], out.shape[0])
        f.add("preset", preset)
        for item in more:
            f.add(item)
        f.add("bytes-in", bytes(picture.flatten().tolist()).hex())
        f.add("bytes-out", bytes(int(v) for v in out.flatten()).hex())

    def kernel(k, mode="edge"):
        r = len(k) // 2
        p = np.pad(picture, r, mode=mode)
        return sum(k[y][x] * p[y:y + h, x:x + w] for y in range(2 * r + 1) for x in range(2 * r + 1))

    def u8(v):
        return np.clip(np.floor(v + 0.5), 0, 255)

    sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    sharpen = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]])
    binomial = np.array([1, 4, 6, 4, 1])
    put("copy", 1, picture)
    put("Gauss", 3, u8(kernel(np.outer(binomial, binomial) / 256)))
    put("sharpen", 4, u8(kernel(sharpen)))
    put("sharpen, zero beyond the edges", 4, u8(kernel(sharpen, "constant")), "set 5 01")
    put("sharpen, mirrored at the edges", 4, u8(kernel(sharpen, "reflect")), "set 5 02")
    put("Sobel", 5, u8(np.abs(kernel(sobel)) + np.abs(kernel(sobel.T))))
    put("a quarter turn", 7, np.rot90(picture, -1))
    put("half a turn", 8, np.rot90(picture, 2))
    put("twice as large", 1, np.repeat(np.repeat(picture, 2, axis=0), 2, axis=1))
    put("sharpened, then turned", 9, u8(np.rot90(kernel(sharpen), 1)), "set 1 03",
        "set 2 " + f32(*(list(sharpen.flatten()) + [0] * 16)))
    f.write()


def detector2d_file():
    f = File("detector2D")
    w, h, columns, lines = 20, 9, 3, 2
    f.add("case", "a square crosses the picture")
    f.add("formats U8 1 0 1 U8 1 0 1")
    f.add("picture", w, h, columns, lines)
    f.add("preset 1")
    f.add("set 3 00")
    before, active = None, np.zeros((lines, columns), bool)
    for step in range(8):
        now = np.full((h, w), 90)
        now[3:6, 2 * step:2 * step + 4] = 190
        before = now if before is None else before
        difference = np.abs(now - before) / 255.0
        for y in range(lines):
            for x in range(columns):
                tile = difference[y * h // lines:(y + 1) * h // lines, x * w // columns:(x + 1) * w // columns]
                active[y, x] = tile.mean() >= (0.025 if active[y, x] else 0.05)
        f.add("bytes-in", bytes(now.flatten().tolist()).hex())
        f.add("bytes-out", bytes((active * 255).flatten().tolist()).hex())
        before = now
    f.write()


if __name__ == "__main__":
    for make in (filter_file, amplifier_file, detector_file, script_file, converter_file, split_file, analysis_file,
                 mfcc_file, noise_suppression_file, filter2d_file, detector2d_file, ima_files, modulator_file,
                 demodulator_file, resampler_file):
        make()
