"""What the device played, before and after it was retuned, as one SVG; and the low-pass the tour sets."""
import math
import struct
import wave

import numpy as np

W, LEFT, RIGHT, TOP, GAP = 1000, 74, 28, 96, 78
HEIGHTS = (120, 190, 250)  # the whole run, one pass before and after, its spectrum
BEFORE, AFTER, RELOADED, INK, SOFT, GRID = "#7f8ea3", "#d1495b", "#2a7f9e", "#1f2733", "#66707f", "#e3e7ee"
SETTLE_S = 0.1  # ramps of gain and memory of the filter


def low_pass_q15(hz, rate):
    """Block of arm_stream_filter (stages, post shift, 2 biquads): a Butterworth low-pass of order 4, Q15, shift 1."""
    out = struct.pack("<Bb", 2, 1)
    for q in (0.541, 1.307):
        w = 2 * math.pi * hz / rate
        alpha, c = math.sin(w) / (2 * q), math.cos(w)
        a0 = 1 + alpha
        coef = [(1 - c) / 2 / a0, (1 - c) / a0, (1 - c) / 2 / a0, 2 * c / a0, -(1 - alpha) / a0]
        out += struct.pack("<5h", *(max(-32768, min(32767, round(v * 16384))) for v in coef))
    return out


def read(path):
    with wave.open(path) as w:
        data = np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(float) / 32768
        return data[::w.getnchannels()], w.getframerate()


def spectrum(x, rate, n=4096):
    """Frequencies and their level in dBFS, averaged over the pass; a short pass is filled up with silence."""
    x = np.pad(x, (0, max(0, n + 1 - len(x))))
    hop, win = n // 2, np.hanning(n)
    frames = [np.abs(np.fft.rfft(x[i:i + n] * win)) ** 2 for i in range(0, len(x) - n, hop)]
    return np.fft.rfftfreq(n, 1 / rate), 10 * np.log10(np.mean(frames, axis=0) / (n * n / 16) + 1e-12)


def db(value):
    return 20 * math.log10(max(float(value), 1e-6))


def two_passes(out, loop, changed, end, rate):
    """One pass of the input before and after the change; of an input longer than the run what is next to it."""
    ready = min(changed + int(SETTLE_S * rate), end - 1)
    start = -(-ready // loop) * loop
    if loop <= changed and start + loop <= end:
        return out[:loop], out[start:start + loop]
    n = max(1, min(changed, end - ready))
    return out[changed - n:changed], out[ready:ready + n]


# ---- drawing ------------------------------------------------------------------------

def text(x, y, s, size=12, anchor="start", colour=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{s}</text>')


def line(x1, y1, x2, y2, colour=GRID, width=1.0, dash=""):
    dash = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{dash}/>')


def shape(points, fill, opacity=1.0):
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polygon points="{joined}" fill="{fill}" fill-opacity="{opacity}"/>'


def curve(points, colour, width=1.8):
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"/>'


class Panel:
    """A rectangle with two linear axes."""

    def __init__(self, index, title, xs, ys):
        self.top = TOP + sum(HEIGHTS[:index]) + GAP * index
        self.height, self.xs, self.ys = HEIGHTS[index], xs, ys
        self.body = [text(LEFT, self.top - 14, title, 14, weight="bold")]

    def x(self, v):
        return LEFT + (W - LEFT - RIGHT) * (v - self.xs[0]) / (self.xs[1] - self.xs[0])

    def y(self, v):
        return self.top + self.height * (self.ys[1] - np.clip(v, *self.ys)) / (self.ys[1] - self.ys[0])

    def x_axis(self, ticks, name):
        for v, label in ticks:
            self.body += [line(self.x(v), self.top, self.x(v), self.top + self.height),
                          text(self.x(v), self.top + self.height + 17, label, 12, "middle", SOFT)]
        self.body.append(text(W - RIGHT, self.top + self.height + 34, name, 12, "end", SOFT))

    def y_axis(self, ticks, name):
        for v in ticks:
            self.body += [line(LEFT, self.y(v), W - RIGHT, self.y(v)),
                          text(LEFT - 8, self.y(v) + 4, f"{v:g}".replace("-", "\u2212"), 12, "end", SOFT)]
        x, y = 18, self.top + self.height / 2
        self.body.append(f'<g transform="rotate(-90 {x} {y:.1f})">{text(x, y, name, 12, "middle", SOFT)}</g>')

    def wave(self, data, at_s, rate, colour, opacity):
        """Smallest and largest value of every column of a pixel."""
        columns = max(1, min(len(data), int(self.x(len(data) / rate) - self.x(0))))
        parts = np.array_split(data, columns)
        xs = [self.x(at_s + i * len(data) / rate / columns) for i in range(columns)]
        up = [(x, self.y(p.max()) - 0.4) for x, p in zip(xs, parts)]
        down = [(x, self.y(p.min()) + 0.4) for x, p in zip(xs, parts)]
        self.body.append(shape(up + down[::-1], colour, opacity))

    def mark(self, at, label, colour):
        self.body += [line(self.x(at), self.top - 8, self.x(at), self.top + self.height, colour, 1.6, "5 3"),
                      text(self.x(at) + 5, self.top - 3, label, 12, colour=colour, weight="bold")]


def time_ticks(seconds):
    step = next(s for s in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1000) if seconds / s <= 14)
    return [(k * step, f"{k * step:g}") for k in range(int(seconds / step) + 1)]


def level_ticks(top):
    step = next(s for s in (0.05, 0.1, 0.2, 0.5, 1) if top / s <= 2.5)
    return [k * step for k in range(-int(top / step), int(top / step) + 1)]


def run_panel(out, changed, reloaded, rate, top):
    p = Panel(0, "The whole run", (0, len(out) / rate), (-top, top))
    p.x_axis(time_ticks(len(out) / rate), "time [s]")
    p.y_axis((-0.5, 0, 0.5) if top > 0.5 else level_ticks(top)[1:-1:2], "full scale")
    edges = (0, changed, reloaded, len(out))
    for a, b, colour in zip(edges, edges[1:], (BEFORE, AFTER, RELOADED)):
        if b > a:
            p.wave(out[a:b], a / rate, rate, colour, 0.85)
    p.mark(changed / rate, "transaction", AFTER)
    p.mark(reloaded / rate, "edited graph", RELOADED)
    return p.body


def wave_panel(before, after, rate, top):
    seconds = len(before) / rate
    p = Panel(1, "A stretch of it before and after the transaction, one over the other", (0, seconds), (-top, top))
    p.x_axis(time_ticks(seconds), "time [s]")
    p.y_axis(level_ticks(top), "full scale")
    p.wave(after, 0, rate, AFTER, 0.55)
    p.wave(before, 0, rate, BEFORE, 0.9)
    return p.body


def spectrum_panel(before, after, rate, corner_hz):
    octave = np.log2
    low, high, floor, ceiling = 50.0, rate / 2, -120.0, 0.0
    p = Panel(2, "Its spectrum: what went, what came", (octave(low), octave(high)),
              (floor, ceiling))
    p.x_axis([(octave(f), f"{f // 1000}k" if f >= 1000 else f"{f}")
              for f in (50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000) if f <= high], "frequency [Hz]")
    p.y_axis(range(int(floor), int(ceiling) + 1, 20), "dBFS")
    f, a = spectrum(before, rate)
    b = spectrum(after, rate)[1]
    keep = (f >= low) & (f <= high)
    xs = p.x(octave(f[keep]))
    ups, downs = list(zip(xs, p.y(a[keep]))), list(zip(xs, p.y(b[keep])))
    lower = list(zip(xs, p.y(np.minimum(a, b)[keep])))
    p.body += [shape(ups + lower[::-1], BEFORE, 0.25), shape(downs + lower[::-1], AFTER, 0.25),
               curve(ups, BEFORE), curve(downs, AFTER, 2.2)]
    p.mark(octave(corner_hz), f"{corner_hz / 1000:g} kHz", AFTER)
    return p.body


def legend(corner_hz, gain_db):
    x, out = LEFT, [text(LEFT, 34, "Tunewire: what the device played", 20, weight="bold")]
    retuned = f"after the transaction: {corner_hz / 1000:g} kHz low-pass and {gain_db:+g} dB"
    for colour, label in ((BEFORE, "as loaded"), (AFTER, retuned), (RELOADED, "after the edited graph")):
        box = f'<rect x="{x:.0f}" y="48" width="13" height="13" rx="2" fill="{colour}"/>'
        out += [box, text(x + 19, 59, label, 13)]
        x += 40 + 6.6 * len(label)
    return out


def plot(played, source, changed, reloaded, path, corner_hz=1000, gain_db=6):
    """`changed`, `reloaded`: samples of the output from which they hold. @return lines that say what is to be seen"""
    out, rate = read(played)
    changed, reloaded = min(changed, len(out) - 1), min(reloaded, len(out))
    before, after = two_passes(out, len(read(source)[0]), changed, reloaded, rate)
    top = max(0.1, float(np.max(np.abs(out)))) * 1.05
    body = (legend(corner_hz, gain_db) + run_panel(out, changed, reloaded, rate, top) +
            wave_panel(before, after, rate, top) + spectrum_panel(before, after, rate, corner_hz))
    height = TOP + sum(HEIGHTS) + GAP * 2 + 50
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{W}" height="{height}" viewBox="0 0 {W} {height}" '
                f'font-family="sans-serif"><rect width="{W}" height="{height}" fill="white"/>\n')
        f.write("\n".join(body) + "\n</svg>\n")
    f, a = spectrum(before, rate)
    b = spectrum(after, rate)[1]

    def change(lo, hi):
        keep = (f >= lo) & (f < hi)
        return 10 * math.log10(np.sum(10 ** (b[keep] / 10)) / np.sum(10 ** (a[keep] / 10)))
    return [f"heard in the output: below {corner_hz / 2:g} Hz {change(50, corner_hz / 2):+.1f} dB, above "
            f"{2 * corner_hz:g} Hz {change(2 * corner_hz, rate / 2):+.1f} dB; peak {db(np.abs(before).max()):.1f} -> "
            f"{db(np.abs(after).max()):.1f} dBFS"]
