#!/usr/bin/python3
"""Writes the golden files of the types that join, part and look at streams; see make_golden.py for the format."""
import struct

import numpy as np
from make_golden import F, File, f32, interleave, noise, s16, words

MUTE = 1 << 16


def nearest(v):
    """To the nearest word, ties to even, saturated: what the converter library promises."""
    return max(-32768, min(32767, int(np.rint(v))))


def away(v):
    """To the nearest word, halves away from zero, saturated: what the signal nodes do."""
    return max(-32768, min(32767, int(np.trunc(F(v) + F(0.5 if v >= 0 else -0.5)))))


def arc(f, name, k, raw, values):
    f.add("arc-" + name, k, words(raw, values))


def begin(f, name, raw, ch_in, ch_out, blocks, samples, rx, tx, preset=0):
    f.add("case", name)
    f.add("formats", raw, ch_in, blocks, samples, raw, ch_out, blocks, samples)
    f.add("arcs", rx, tx)
    f.add("preset", preset)


# ---- router --------------------------------------------------------------------
def moves(n_in, n_out, *table):
    return "%02x%02x" % (n_in, n_out) + "".join(s16(*m) for m in table)


def routed(table, ins, to, channels, samples):
    """Channels of one output: sums of numbers, and the words they round to."""
    out = []
    for c in range(channels):
        acc = np.zeros(samples)
        for m in table:
            if m[2] == to and m[3] == c:
                acc += np.array(ins[m[0]][m[1]], dtype=float)
        out.append(acc)
    return out


def router_file():
    f = File("router")
    rnd = noise(20)
    for blocks in (0, 1):
        begin(f, "two stereo arcs to one of two channels and another, blocks %d" % blocks, "S16", 2, 2, blocks, 5, 2, 2)
        table = [(0, 0, 2, 1), (1, 1, 2, 0), (0, 1, 3, 0), (1, 0, 3, 0)]
        f.add("set", 256, moves(2, 2, *table))
        for _ in range(2):
            ins = [[[int(25000 * next(rnd)) for _ in range(5)] for _ in range(2)] for _ in range(2)]
            for k in range(2):
                arc(f, "in", k, "S16", interleave(ins[k], blocks))
            f.add("run", 20)
            for to in (2, 3):
                got = [[nearest(v) for v in ch] for ch in routed(table, ins, to, 2, 5)]
                arc(f, "out", to, "S16", interleave(got, blocks))
        f.add("read", 256, moves(2, 2, *table, *[(-1, -1, -1, -1)] * 28))
    begin(f, "a change fades over 4 instants, a longer one waits", "FP32", 1, 1, 0, 4, 2, 1)
    f.add("set", 256, moves(0, 0, (0, 0, 2, 0)))
    f.add("set", 40, f32(0.25))  # 4 instants at 16 kHz
    arc(f, "in", 0, "FP32", [1, 1, 1, 1])
    arc(f, "in", 1, "FP32", [3, 3, 3, 3])
    f.add("run", 16)
    arc(f, "out", 2, "FP32", [1, 1, 1, 1])
    f.add("set", 3, s16(1, 0, 2, 0))
    f.add("run", 16)
    arc(f, "out", 2, "FP32", [1.5, 2, 2.5, 3])
    f.add("run", 16)
    arc(f, "out", 2, "FP32", [3, 3, 3, 3])
    begin(f, "channels in order", "S16", 1, 2, 0, 2, 3, 2, preset=1)
    for k in range(3):
        arc(f, "in", k, "S16", [10 * k, 10 * k + 1])
    f.add("run", 8)
    arc(f, "out", 3, "S16", [0, 10, 1, 11])
    arc(f, "out", 4, "S16", [20, 0, 21, 0])
    f.write()


# ---- mixer ---------------------------------------------------------------------
def gain(code):
    return F((code >> 4 & 0xFF) / 128.0 * 2.0 ** (5 - (code & 15)))


def mixer_block(up, down, out, *paths):
    return "%02x%02x" % (up, down) + struct.pack("<I", out).hex() + "".join(
        s16(*p[:3]) + struct.pack("<I", p[3]).hex() for p in paths)


class Path:
    """Target and distance, as the mixer's head describes."""

    def __init__(self, target):
        self.target, self.distance = F(target), F(0)

    def aim(self, target):
        self.distance = F(self.target + self.distance - F(target))
        self.target = F(target)

    def next(self, up, down):
        if self.distance != 0:
            grows = abs(self.target) > abs(F(self.target + self.distance))
            self.distance = F(self.distance * F(1 - 1 / 2 ** (up if grows else down)))
        return F(self.target + self.distance)


def mixer_file():
    f = File("mixer")
    rnd = noise(21)
    for raw in ("S16", "FP32"):
        begin(f, "three mono inputs and one more to stereo, " + raw, raw, 1, 2, 0, 6, 4, 1)
        codes = [(0, 0, 0, 0x805), (1, 0, 1, 0x806), (2, 0, 0, 0x804), (3, 0, 1, 0x805 | MUTE), (0, 0, 1, 0x708)]
        f.add("set", 256, mixer_block(3, 5, 0x805, *codes))
        paths = [Path(0 if p[3] & MUTE else gain(p[3] & 0xFFF)) for p in codes]
        f.add("within", 1 if raw == "S16" else 1e-6)
        for turn in range(4):
            if turn == 1:  # the second path louder, the third away
                codes[1] = (1, 0, 1, 0x803)
                codes[2] = (2, 0, 0, 0x804 | MUTE)
                f.add("set", 7, struct.pack("<I", codes[1][3]).hex())
                f.add("set", 9, struct.pack("<I", codes[2][3]).hex())
                paths[1].aim(gain(0x803))
                paths[2].aim(0)
            ins = [[int(12000 * next(rnd)) if raw == "S16" else F(next(rnd)) for _ in range(6)] for _ in range(4)]
            for k in range(4):
                arc(f, "in", k, raw, ins[k])
            f.add("run", 24 if raw == "S16" else 48)
            out = [[F(0)] * 6, [F(0)] * 6]
            for t in range(6):
                for p, path in zip(codes, paths):
                    out[p[2]][t] = F(out[p[2]][t] + F(ins[p[0]][t]) * path.next(3, 5))
            arc(f, "out", 4, raw, interleave([[away(v) if raw == "S16" else v for v in ch] for ch in out], 0))
    begin(f, "all inputs straight, saturated", "S16", 2, 2, 0, 2, 2, 1, preset=1)
    arc(f, "in", 0, "S16", [30000, -30000, 5, 6])
    arc(f, "in", 1, "S16", [30000, -30000, -7, 1])
    f.add("run", 8)
    arc(f, "out", 2, "S16", [32767, -32768, -2, 7])
    f.add("read", 66, "02000000")
    begin(f, "preset 2 is -96 dB", "S16", 1, 1, 0, 2, 1, 1, preset=2)
    f.add("read", 3, "2f000000")
    arc(f, "in", 0, "S16", [32767, -32768])
    f.add("run", 4)
    arc(f, "out", 1, "S16", [0, -1])
    begin(f, "preset 3 leaves the fourth input out", "S16", 1, 1, 0, 2, 4, 1, preset=3)
    for k in range(4):
        arc(f, "in", k, "S16", [10 ** k, -10 ** k])
    f.add("run", 4)
    arc(f, "out", 4, "S16", [111, -111])
    f.write()


# ---- rescaler ------------------------------------------------------------------
def rescaler_file():
    f = File("rescaler")
    rnd = noise(22)
    tables = [[(-1, 1), (0, 0), (1, 1)],
              [(-0.5, -1), (-0.1, -0.2), (0.25, 0.3), (0.3, -0.9), (0.9, 0.5)],
              [(0.1, 0.25)],
              [(-1 + i / 15.5, float(np.tanh(3 * (-1 + i / 15.5)))) for i in range(32)]]
    for raw, one in (("S16", 32768), ("Q31", 2 ** 31), ("FP32", 1)):
        for k, table in enumerate(tables):
            f.case("table %d, %s" % (k, raw), raw, 2, 0, 20)
            f.add("set", 256, f32(*[v for p in table for v in p]))
            x = [next(rnd) * 1.2 for _ in range(40)]
            x[:4] = [-1.0, 1.0, 0.0, -0.1]
            if raw != "FP32":
                x = [max(-one, min(one - 1, int(v * one))) for v in x]
            else:
                x = [F(v) for v in x]
            xs = [float(F(p[0])) for p in table]
            y = np.interp([float(v) / one for v in x], xs, [float(F(p[1])) for p in table]) * one
            f.add("within", {"S16": 1, "Q31": 1, "FP32": 1e-6}[raw])
            y = [float(v) if raw == "FP32" else int(max(-one, min(one - 1, np.rint(v)))) for v in y]
            f.add("in", wide_words(raw, x))
            f.add("out", wide_words(raw, y))
    f.case("no points: what comes in goes out", "S16", 1, 0, 3)
    f.run("S16", [-32768, 32767, 1], [-32768, 32767, 1])
    f.case("a change fades over 4 instants", "FP32", 1, 0, 4)
    f.add("set", 41, f32(0.25))
    f.run("FP32", [1, 1, 1, 1], [1, 1, 1, 1])
    f.add("set", 256, f32(0, 5))
    f.run("FP32", [1, 1, 1, 1], [2, 3, 4, 5])
    f.run("FP32", [1, 1, 1, 1], [5, 5, 5, 5])
    f.write()


def wide_words(raw, values):
    if raw == "Q31":
        return " ".join("%08x" % (int(v) & 0xFFFFFFFF) for v in values)
    return words(raw, values)


# ---- probe ---------------------------------------------------------------------
def probe_file():
    f = File("probe")
    f.case("words go through, the window is measured", "FP32", 2, 0, 4)
    f.add("set", 1, "04000000")
    x = [0.5, -1, 0.5, 1, 0.5, -1, 0.5, 1]
    f.run("FP32", x, x)
    for tag, value in ((20, -1), (21, 1), (22, 0.25)):
        f.add("read", tag, f32(value))
    f.add("read", 16, "04000000")
    f.add("read", 17, "01000000")
    f.case("a rise through the level, once while armed", "S16", 1, 0, 8)
    f.add("set", 256, "10000000" "01" "01" + f32(0.25) + "01")
    x = [0, 8191, 8192, 0, 9000, 0, 9000, 0]
    f.run("S16", x, x)
    f.add("read", 26, "01")
    f.add("read", 27, "01000000")
    f.add("read", 28, "02000000")
    f.add("set", 5, "01")
    f.run("S16", x, x)
    f.add("read", 27, "02000000")
    f.add("read", 28, "0a000000")
    f.case("a type without a number", "S64", 1, 0, 2)
    f.add("bytes-in", "00112233445566778899aabbccddeeff")
    f.add("bytes-out", "00112233445566778899aabbccddeeff")
    f.write()


# ---- graph_control -------------------------------------------------------------
def crc16(data):
    crc = 0xFFFF
    for b in data:
        crc ^= b << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def frame(*body):
    body = bytes([len(body), *body])
    return b"\xa5" + body + struct.pack("<H", crc16(body))


def control_file():
    f = File("graph_control")
    f.add("case", "pings, noise between them, and what became of both")
    f.add("formats", "U8", 1, 0, 1, "U8", 1, 0, 1)
    f.add("preset", 0)
    f.add("bytes-in", (frame(1, 7, 8) + b"\x00\xa5\x00" + frame(1) + frame(6)).hex())
    f.add("bytes-out", (frame(0x81, 0, 0, 7, 8) + frame(0x81, 0, 0)
                        + frame(0x86, 0, 0, *struct.pack("<III", 3, 3, 0))).hex())
    f.add("read", 16, "03000000")
    f.add("read", 17, "03000000")
    f.write()


# ---- infer ---------------------------------------------------------------------
def infer_file():
    """The test's network: S8, 1/64 a step, zero point 3, what comes in goes out."""
    f = File("infer")
    rnd = noise(24)
    f.add("case", "FP32 through words of 8 bits")
    f.add("formats", "FP32", 2, 0, 6, "FP32", 2, 0, 6)
    f.add("arcs", 1, 1)
    f.add("preset", 0)
    for _ in range(2):
        x = [F(4 * next(rnd)) for _ in range(12)]
        q = [max(-128, min(127, int(np.trunc((v := float(a) * 64 + 3) + (0.5 if v >= 0 else -0.5))))) for a in x]
        f.run("FP32", x, [F((w - 3) / 64) for w in q])
    f.add("read", 17, "02000000")
    f.write()


# ---- qos -----------------------------------------------------------------------
def qos_file():
    f = File("qos")
    begin(f, "a stream with half as much is stretched, one with all stays", "FP32", 1, 1, 0, 2, 2, 2)
    f.add("set", 1, "02")
    for a, b in (([1, 2, 3, 4], [10, 20]), ([5, 6, 7, 8], [40, 20])):
        arc(f, "in", 0, "FP32", a)
        arc(f, "in", 1, "FP32", b)
        f.add("run", 16)
        arc(f, "out", 2, "FP32", a)
        last = 0 if b[0] == 10 else 20
        arc(f, "out", 3, "FP32", np.interp(np.arange(1, 5) / 2, [0, 1, 2], [last, *b]))
    f.add("read", 16, "04000000")
    begin(f, "hold, any type", "S16", 2, 2, 0, 1, 2, 2)
    arc(f, "in", 0, "S16", [1, 2, 3, 4, 5, 6])
    arc(f, "in", 1, "S16", [7, 8])
    f.add("run", 12)
    arc(f, "out", 2, "S16", [1, 2, 3, 4, 5, 6])
    arc(f, "out", 3, "S16", [7, 8, 7, 8, 7, 8])
    f.write()


if __name__ == "__main__":
    qos_file()
    infer_file()
    control_file()
    router_file()
    mixer_file()
    rescaler_file()
    probe_file()
