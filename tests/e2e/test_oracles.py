"""Kernels and nodes against SciPy, and against CMSIS-DSP's Python wheel where it is installed (`make oracles`)."""
import os
import struct
import subprocess

import pytest

np = pytest.importorskip("numpy")
scipy = pytest.importorskip("scipy", reason="python3-scipy is not installed")
from scipy import fft, ndimage, signal  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORACLE = os.environ.get("TW_ORACLE", os.path.join(ROOT, "build", "host", "oracle"))
RNG = np.random.default_rng(1)
# The elliptic band-pass of docs' example: 1450-1900 Hz at 16 kHz, Q15 at post_shift 1.
BAND = np.array([[681, 422, 681, 23853, -15161], [681, -1342, 681, 26261, -15331]])


def oracle(*words, data=b""):
    run = subprocess.run([ORACLE, *map(str, words)], input=data, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


def cmsis():
    return pytest.importorskip("cmsisdsp", reason="the cmsisdsp wheel is not installed (make oracles)")


def snr(want, got):
    return 10 * np.log10(np.sum(np.square(want)) / np.sum(np.square(want - got)))


def sos(rows):
    """Our rows b0 b1 b2 a1 a2, feedback signs turned, as SciPy writes them."""
    return np.array([[r[0], r[1], r[2], 1, -r[3], -r[4]] for r in rows], float)


def sine(n, hz=1600.0, amplitude=0.5):
    return amplitude * np.sin(2 * np.pi * hz / 16000 * np.arange(n))


def q15_integers(rows, shift, xs):
    """The definition in Python integers: exact sum, floor, saturation."""
    xs = [int(x) for x in xs]
    for b0, b1, b2, a1, a2 in (map(int, r) for r in rows):
        x1 = x2 = y1 = y2 = 0
        ys = []
        for x in xs:
            y = (b0 * x + b1 * x1 + b2 * x2 + a1 * y1 + a2 * y2) >> (15 - shift)
            y = max(-32768, min(32767, y))
            x2, x1, y2, y1 = x1, x, y1, y
            ys.append(y)
        xs = ys
    return np.array(xs)


# ---- biquads --------------------------------------------------------------------
def test_the_elliptic_band_pass_in_q15_is_sosfilt_but_for_its_rounding():
    x = np.int16(np.round(32767 * sine(4000)))
    got = np.frombuffer(oracle("biquad_q15", 2, 1, data=BAND.astype("<i2").tobytes() + x.tobytes()), "<i2")
    want = signal.sosfilt(sos(BAND / 16384), x / 32768)
    assert snr(want, got / 32768) > 50
    assert np.array_equal(got, q15_integers(BAND, 1, x))


def test_the_elliptic_band_pass_in_fp32_is_sosfilt():
    x = np.float32(sine(4000))
    got = np.frombuffer(oracle("biquad_f32", 2, data=np.float32(BAND / 16384).tobytes() + x.tobytes()), "<f4")
    assert snr(signal.sosfilt(sos(BAND / 16384), x), got) > 120


@pytest.mark.parametrize("order", [1, 2, 5, 12])
@pytest.mark.parametrize("kind", ["butter", "ellip", "cheby2"])
def test_cascades_of_any_order_are_sosfilt(order, kind):
    design = {"butter": lambda: signal.butter(order, 0.2, output="sos"),
              "ellip": lambda: signal.ellip(order, 1, 50, 0.3, output="sos"),
              "cheby2": lambda: signal.cheby2(order, 50, 0.4, output="sos")}[kind]()
    rows = np.float32([[s[0], s[1], s[2], -s[4], -s[5]] for s in design])
    x = RNG.uniform(-1, 1, 3000).astype("<f4")
    got = np.frombuffer(oracle("biquad_f32", len(rows), data=rows.tobytes() + x.tobytes()), "<f4")
    assert snr(signal.sosfilt(sos(rows.astype(float)), x), got) > 100


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7])
def test_channels_side_by_side_are_sosfilt_along_time(channels):
    rows = np.float32(BAND / 16384)
    x = RNG.uniform(-1, 1, (500, channels)).astype("<f4")
    got = np.frombuffer(oracle("channels", 2, channels, data=rows.tobytes() + x.tobytes()), "<f4").reshape(x.shape)
    assert snr(signal.sosfilt(sos(rows.astype(float)), x, axis=0), got) > 120


@pytest.mark.parametrize("seed", range(5))
def test_q15_biquads_are_those_of_cmsis_dsp_to_the_bit(seed):
    dsp = cmsis()
    rng = np.random.default_rng(seed)
    stages, shift = int(rng.integers(1, 6)), int(rng.integers(0, 4))
    rows = rng.integers(-32768, 32768, (stages, 5))
    x = rng.integers(-32768, 32768, 500).astype("<i2")
    their_rows = np.insert(rows, 1, 0, axis=1).astype(np.int16).flatten()
    f = dsp.arm_biquad_casd_df1_inst_q15()
    dsp.arm_biquad_cascade_df1_init_q15(f, stages, their_rows, np.zeros(4 * stages, np.int16), shift)
    want = dsp.arm_biquad_cascade_df1_q15(f, x)
    got = np.frombuffer(oracle("biquad_q15", stages, shift, data=rows.astype("<i2").tobytes() + x.tobytes()), "<i2")
    assert np.array_equal(got, want)


def test_fp32_biquads_agree_with_cmsis_dsp():
    dsp = cmsis()
    rows, x = np.float32(BAND / 16384), np.float32(sine(2000))
    f = dsp.arm_biquad_casd_df1_inst_f32()
    dsp.arm_biquad_cascade_df1_init_f32(f, 2, rows.flatten(), np.zeros(8, np.float32))
    want = dsp.arm_biquad_cascade_df1_f32(f, x)
    got = np.frombuffer(oracle("biquad_f32", 2, data=rows.tobytes() + x.tobytes()), "<f4")
    assert snr(want.astype(float), got) > 100


# ---- transforms, windows, math -----------------------------------------------------
@pytest.mark.parametrize("n", [2, 60, 64, 320, 512, 1024, 4096, 15000])
def test_transforms_are_those_of_scipy(n):
    x = RNG.standard_normal(n).astype("<f4")
    want = fft.rfft(x.astype(float))
    got = np.frombuffer(oracle("rfft", n, data=x.tobytes()), "<f4").view("<c8")
    assert np.max(np.abs(want - got)) < 1e-6 * np.max(np.abs(want))
    z = (x + 1j * np.roll(x, 1)).astype("<c8")
    want = fft.fft(z.astype(complex))
    got = np.frombuffer(oracle("cfft", n, data=z.tobytes()), "<c8")
    assert np.max(np.abs(want - got)) < 1e-6 * np.max(np.abs(want))


@pytest.mark.parametrize("kind,name", [(1, "hann"), (2, "hamming"), (3, "blackman")])
def test_windows_are_the_periodic_ones_of_scipy(kind, name):
    got = np.frombuffer(oracle("window", kind, 480), "<f4")
    assert np.max(np.abs(got - signal.get_window(name, 480))) < 1e-6


@pytest.mark.parametrize("name", ["sqrt", "log", "exp", "sin", "cos", "pow", "atan2"])
def test_math_is_that_of_the_c_library(name):
    x = RNG.uniform(1e-3, 100, 4000).astype("<f8")
    got = np.frombuffer(oracle("math", name, data=x.tobytes()), "<f8")
    a, b = x[0::2], x[1::2]
    want = np.power(a, b) if name == "pow" else np.arctan2(a, b) if name == "atan2" else getattr(np, name)(x)
    assert np.max(np.abs(got - want) / np.maximum(np.abs(want), 0.1)) < 1e-12


# ---- nodes ----------------------------------------------------------------------------
def test_a_filter_node_is_sosfilt_on_each_channel():
    x = RNG.uniform(-1, 1, (640, 3)).astype("<f4")
    rows = BAND / 16384
    more = ["1=02"] + [f"{3 + i}=" + struct.pack("<5f", *rows[i]).hex() for i in range(2)]
    got = np.frombuffer(oracle("node", "filter", 1, 16000, "FP32,3,64", "FP32,3,64", *more, data=x.tobytes()), "<f4")
    assert snr(signal.sosfilt(sos(np.float32(rows).astype(float)), x, axis=0), got.reshape(x.shape)) > 120


@pytest.mark.parametrize("bins", [32, 64, 256, 512])
def test_a_spectrum_is_scipys_in_db(bins):
    n = 2 * bins
    x = RNG.uniform(-0.5, 0.5, 4 * n).astype("<f4")
    got = np.frombuffer(oracle("node", "analysis", 4, 16000, f"FP32,1,{n}", f"FP32,1,{bins}", data=x.tobytes()), "<f4")
    w = signal.get_window("hann", n)
    size = np.abs(fft.rfft(x.reshape(4, n) * w, axis=1))[:, :bins] * 2 / w.sum()
    size[:, 0] /= 2
    assert np.max(np.abs(20 * np.log10(size) - got.reshape(4, bins))) < 0.01


def cepstra(x, frame, hop, n_fft, n_mel, low, high, n_coef, rate=16000):
    """As common front ends for keyword spotting define them, with SciPy's transforms and cosines."""
    def mel(hz):
        return 1127 * np.log1p(np.asarray(hz) / 700)

    points = np.linspace(mel(low), mel(high), n_mel + 2)
    bins = mel(np.arange(n_fft // 2 + 1) * rate / n_fft)
    bank = np.array([np.interp(bins, points[m:m + 3], [0, 1, 0], 0, 0) for m in range(n_mel)])
    frames = [x[at:at + frame] * signal.get_window("hann", frame) for at in range(0, len(x) - frame + 1, hop)]
    ln = np.log(np.abs(fft.rfft(frames, n_fft)) @ bank.T + 1e-6)
    c = fft.dct(ln, type=2, norm="ortho")[:, :n_coef]
    c[:, 0] *= np.sqrt(2)  # one scale for all coefficients
    return c


def test_mfcc_is_the_common_definition_by_scipy():
    x = (0.3 * sine(8000, 700) + 0.05 * RNG.standard_normal(8000)).astype("<f4")
    got = np.frombuffer(oracle("node", "mfcc", 1, 16000, "FP32,1,160", "FP32,1,13", data=x.tobytes()), "<f4").reshape(-1, 13)
    want = cepstra(np.r_[np.zeros(160), x], 480, 320, 512, 40, 20, 4000, 13)
    assert len(got) == len(want) and np.max(np.abs(want - got)) < 5e-4


def test_mfcc_agrees_with_cmsis_dsp():
    dsp = cmsis()
    n_mel, n_fft, n_coef = 20, 512, 13
    x = (0.3 * sine(512, 700) + 0.05 * RNG.standard_normal(512)).astype("<f4")
    bins = 1127 * np.log1p(np.arange(n_fft // 2 + 1) * 16000 / n_fft / 700)
    points = np.linspace(1127 * np.log1p(100 / 700), 1127 * np.log1p(4000 / 700), n_mel + 2)
    bank = np.array([np.interp(bins, points[m:m + 3], [0, 1, 0], 0, 0) for m in range(n_mel)])
    pos = [int(np.nonzero(b)[0][0]) for b in bank]
    lengths = [int(np.count_nonzero(b)) for b in bank]
    packed = np.concatenate([b[p:p + k] for b, p, k in zip(bank, pos, lengths)]).astype(np.float32)
    k, m = np.arange(n_coef)[:, None], np.arange(n_mel)[None]
    cosines = (np.sqrt(2 / n_mel) * np.cos(np.pi * k * (m + 0.5) / n_mel)).astype(np.float32)
    f = dsp.arm_mfcc_instance_f32()
    window = signal.get_window("hann", n_fft).astype(np.float32)
    status = dsp.arm_mfcc_init_f32(f, n_fft, n_mel, n_coef, cosines.flatten(), pos, lengths, packed, window)
    assert status == 0
    theirs = dsp.arm_mfcc_f32(f, x.copy(), np.zeros(n_fft + 2, np.float32))
    got = np.frombuffer(oracle("node", "mfcc", 3, 16000, "FP32,1,512", f"FP32,1,{n_coef}", data=x.tobytes()), "<f4")
    assert np.max(np.abs(theirs - got)) < 2e-3


@pytest.mark.parametrize("border,mode", [(0, "nearest"), (1, "constant"), (2, "mirror")])
@pytest.mark.parametrize("side", [3, 5])
def test_kernels_on_pictures_are_those_of_ndimage(side, border, mode):
    picture = RNG.integers(-2000, 2000, (23, 31)).astype("<i2")
    kernel = RNG.integers(-4, 5, (side, side)).astype(float)
    taps = struct.pack("<25f", *np.r_[kernel.flatten(), np.zeros(25 - side * side)])
    shape = "S16,1,713,31,23"
    out = oracle("node", "filter2D", 1, 0, shape, shape, f"1={side:02x}", "2=" + taps.hex(), f"5={border:02x}",
                 data=picture.tobytes())
    want = np.clip(ndimage.correlate(picture.astype(float), kernel, mode=mode), -32768, 32767)
    assert np.array_equal(np.frombuffer(out, "<i2").reshape(23, 31), want)


def test_sobel_is_that_of_ndimage():
    picture = RNG.integers(0, 30, (20, 24)).astype(np.uint8)
    out = oracle("node", "filter2D", 5, 0, "U8,1,480,24,20", "U8,1,480,24,20", data=picture.tobytes())
    x, y = (ndimage.sobel(picture.astype(float), axis=a, mode="nearest") for a in (1, 0))
    assert np.array_equal(np.frombuffer(out, np.uint8).reshape(20, 24), np.clip(np.abs(x) + np.abs(y), 0, 255))


def test_bilinear_scaling_is_that_of_ndimage():
    picture = RNG.integers(0, 256, (12, 16)).astype(np.uint8)
    out = oracle("node", "filter2D", 10, 0, "U8,1,192,16,12", "U8,1,700,28,25", data=picture.tobytes())
    y, x = np.meshgrid((np.arange(25) + 0.5) * 12 / 25 - 0.5, (np.arange(28) + 0.5) * 16 / 28 - 0.5, indexing="ij")
    want = ndimage.map_coordinates(picture.astype(float), [y, x], order=1, mode="nearest")
    assert np.max(np.abs(np.frombuffer(out, np.uint8).reshape(25, 28) - want)) <= 0.51
