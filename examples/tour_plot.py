"""Waveform and spectrum, before and after, as one SVG; and the low-pass the tour sets."""
import math
import struct
import wave

import numpy as np

W, H, LEFT, RIGHT, TOP, PANEL, GAP = 960, 720, 70, 24, 64, 250, 84
BEFORE, AFTER, INK, GRID = "#8a94a6", "#d1495b", "#1f2733", "#dfe3ea"


def low_pass_q15(hz, rate):
    """Block of arm_stream_filter (stages, post shift, 2 biquads): two Butterworth-like stages, Q15, shift 1."""
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


def spectrum(x, rate, n=2048):
    hop, win = n // 2, np.hanning(n)
    frames = [np.abs(np.fft.rfft(x[i:i + n] * win)) ** 2 for i in range(0, len(x) - n, hop)]
    level = 10 * np.log10(np.mean(frames, axis=0) / (n * n / 16) + 1e-12)
    return np.fft.rfftfreq(n, 1 / rate), level


def polyline(xs, ys, colour, width=1.6):
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"/>'


def text(x, y, s, size=13, anchor="start", colour=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{s}</text>')


def line(x1, y1, x2, y2, colour=GRID):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def waveform_panel(before, after, rate):
    out, width = [], W - LEFT - RIGHT
    seconds = len(before) / rate
    mid, scale = TOP + PANEL / 2, PANEL / 2 / max(0.1, float(np.max(np.abs(np.concatenate([before, after])))))
    step = 0.2 if seconds < 3 else 1.0
    for k in range(int(seconds / step) + 1):
        x = LEFT + width * k * step / seconds
        out += [line(x, TOP, x, TOP + PANEL), text(x, TOP + PANEL + 18, f"{k * step:g}", 12, "middle")]
    out += [line(LEFT, mid, W - RIGHT, mid, "#b9c0cc"), text(W - RIGHT, TOP + PANEL + 36, "time [s]", 12, "end")]
    for data, colour in ((before, BEFORE), (after, AFTER)):
        cols = np.array_split(data, width)
        up = " ".join(f"{LEFT + i},{mid - scale * c.max():.1f}" for i, c in enumerate(cols))
        down = " ".join(f"{LEFT + i},{mid - scale * c.min():.1f}" for i, c in reversed(list(enumerate(cols))))
        out.append(f'<polygon points="{up} {down}" fill="{colour}" fill-opacity="0.65"/>')
    out.append(text(LEFT, TOP - 10, "Waveform of the output", 14, weight="bold"))
    return out


def spectrum_panel(before, after, rate):
    out, top, width = [], TOP + PANEL + GAP, W - LEFT - RIGHT
    low, high, floor, ceiling = 50.0, rate / 2, -110.0, -10.0

    def x_of(f):
        return LEFT + width * np.log(f / low) / np.log(high / low)

    def y_of(db):
        return top + PANEL * (ceiling - np.clip(db, floor, ceiling)) / (ceiling - floor)
    for f in (50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000):
        out += [line(x_of(f), top, x_of(f), top + PANEL),
                text(x_of(f), top + PANEL + 18, f"{f // 1000}k" if f >= 1000 else f"{f}", 12, "middle")]
    for db in range(int(floor), int(ceiling) + 1, 20):
        out += [line(LEFT, y_of(db), W - RIGHT, y_of(db)), text(LEFT - 8, y_of(db) + 4, f"{db}", 12, "end")]
    for data, colour in ((before, BEFORE), (after, AFTER)):
        f, level = spectrum(data, rate)
        keep = (f >= low) & (f <= high)
        out.append(polyline(x_of(f[keep]), y_of(level[keep]), colour))
    out += [text(LEFT, top - 10, "Spectrum [dBFS]", 14, weight="bold"),
            text(W - RIGHT, top + PANEL + 36, "frequency [Hz]", 12, "end")]
    return out


def plot(played, source, changed_at, path):
    """`changed_at`: sample of the output from which the new parameters hold."""
    out, rate = read(played)
    loop = len(read(source)[0])
    start = -(-(changed_at + rate // 10) // loop) * loop  # the next whole pass of the input, ramps settled
    before, after = out[:loop], out[start:start + loop]
    if len(after) < loop:  # a short run: the same part of the pass on both sides
        phase = (changed_at + rate // 10) % loop
        n = min(loop - phase, len(out) - changed_at - rate // 10)
        before, after = out[phase:phase + n], out[changed_at + rate // 10:changed_at + rate // 10 + n]
    body = waveform_panel(before, after, rate) + spectrum_panel(before, after, rate)
    legend = [f'<rect x="{W - 330}" y="22" width="14" height="14" fill="{BEFORE}"/>', text(W - 310, 34, "before"),
              f'<rect x="{W - 240}" y="22" width="14" height="14" fill="{AFTER}"/>',
              text(W - 220, 34, "after: 1 kHz low-pass, +6 dB")]
    with open(path, "w") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{W}" height="{H}" viewBox="0 0 {W} {H}" '
                f'font-family="sans-serif"><rect width="{W}" height="{H}" fill="white"/>\n')
        f.write("\n".join(legend + body) + "\n</svg>\n")
