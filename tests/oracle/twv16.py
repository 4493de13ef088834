"""twv16.py: TWV-16 once more, from docs/SCRIPT_ISA.md alone; the reference the machines in C are compared with.

Slow and plain on purpose. Integers are Python's, floats are doubles that hold a value of their type, fp8 is its byte.
It runs programs that the verifier has passed: what the verifier excludes ends in an assertion here.
"""
import ctypes
import math
import struct

I8, U8, I16, U16, I32, U32, TIME32, I64, U64, FP8A, FP8B, FP16, FP32, FP64, PTR, CHAR = range(16)
BYTES = (1, 1, 2, 2, 4, 4, 4, 8, 8, 1, 1, 2, 4, 8, 8, 1)
BITS = tuple(8 * n for n in BYTES)
SIGNED = (I8, I16, I32, I64)
LOW = [-(1 << BITS[t] - 1) if t in SIGNED else 0 for t in range(16)]
HIGH = [(1 << BITS[t] - (t in SIGNED)) - 1 for t in range(16)]
MASK = [(1 << n) - 1 for n in BITS]
LC, ZERO, S0, S1 = 12, 13, 14, 15
OK, E_STACK, E_BUDGET, E_FAULT = "OK", "SCR_STACK", "SCR_BUDGET", "SCR_FAULT"
DIV0, CONVERSION = 1, 2
NAN_BITS = {FP16: 0x7E00, FP32: 0x7FC00000, FP64: 0x7FF8000000000000}
FORMAT = {FP16: ("<e", "<H"), FP32: ("<f", "<I"), FP64: ("<d", "<Q")}


class Fault(Exception):
    pass


def is_float(t):
    return FP16 <= t <= FP64


# ---- values ----

def single(v):
    return ctypes.c_float(v).value


def round_float(v, t):
    """To the type; to fp16 by way of fp32."""
    if t == FP64 or v != v:
        return v
    v = single(v)
    if t == FP32:
        return v
    try:
        return struct.unpack("<e", struct.pack("<e", v))[0]
    except OverflowError:
        return math.copysign(math.inf, v)


def step(v, t):
    """One step of an operation of several: single for fp16 and fp32, double for fp64."""
    return v if t == FP64 else single(v)


def int_to_float(v, t):
    """Rounded once: what a double cannot hold keeps a sticky bit."""
    size = abs(v).bit_length()
    if t != FP64 and size > 53:
        low = size - 50
        v = (v >> low | (v & ((1 << low) - 1) != 0)) << low
    return round_float(float(v), t)


def wrap(v, t):
    v &= MASK[t]
    return v - MASK[t] - 1 if v > HIGH[t] else v


def fit(v, t):
    """Saturate at 8 and 16 bits, wrap at 32 and 64."""
    low, high = LOW[t], HIGH[t]
    if low <= v <= high:
        return v
    if BYTES[t] <= 2:
        return low if v < low else high
    return wrap(v, t)


def bits_of(v, t):
    if not is_float(t):
        return v & MASK[t]
    if v != v:
        return NAN_BITS[t]
    real, word = FORMAT[t]
    return struct.unpack(word, struct.pack(real, v))[0]


def from_bits(b, t):
    b &= MASK[t]
    if is_float(t):
        real, word = FORMAT[t]
        return struct.unpack(real, struct.pack(word, b))[0]
    return b if t in (FP8A, FP8B) else wrap(b, t)


def float_to_int(v, t):
    """(value, error bits)"""
    if v != v:
        return 0, CONVERSION
    if v in (math.inf, -math.inf):
        return (HIGH[t] if v > 0 else LOW[t]), CONVERSION
    i = int(v)
    if i > HIGH[t]:
        return HIGH[t], CONVERSION
    if i < LOW[t]:
        return LOW[t], CONVERSION
    return i, 0


# ---- the machine ----

class Script:
    """As stored: code, literals, limits; `mem` is a bytearray or None."""

    def __init__(self, code, pool, regs, ptrs, stack, mem, budget=256):
        self.code, self.pool, self.regs, self.ptrs, self.stack, self.mem = code, pool, regs, ptrs, stack, mem
        self.budget = budget
        self.words = struct.unpack(f"<{len(code) // 2}H", code)
        self.labels = {}
        self.decoded = {}
        at = 0
        while at < len(self.words):
            w = self.words[at]
            if w >> 8 == 5:
                self.labels[w & 127] = at
            at += length(w)

    def constants(self, k):
        """Pointer to the literals at label k: read-only, to the end of the data."""
        n = struct.unpack("<H", self.pool[-2:])[0]
        data = len(self.pool) - 2 - 4 * n
        for i in range(n):
            label, kind, offset = struct.unpack_from("<BBH", self.pool, data + 4 * i)
            if label == k:
                return Pointer(2, self.pool, offset, data - offset, kind)
        raise AssertionError("no such literal")


class Pointer:
    __slots__ = ("space", "buf", "base", "size", "kind", "off")

    def __init__(self, space=0, buf=None, base=0, size=0, kind=I32, off=0):
        self.space, self.buf, self.base, self.size, self.kind, self.off = space, buf, base, size, kind, off

    def copy(self):
        return Pointer(self.space, self.buf, self.base, self.size, self.kind, self.off)

    def elements(self):
        return self.size // BYTES[self.kind]

    def place(self):
        at = self.off * BYTES[self.kind]
        if self.space == 0 or self.buf is None or at + BYTES[self.kind] > self.size:
            raise Fault(E_FAULT)
        return self.base + at

    def window(self, for_write):
        """(place, bytes) of what lies from the present element on, or None."""
        at = self.off * BYTES[self.kind]
        if self.space == 0 or self.buf is None or at > self.size or (for_write and self.space == 2):
            return None
        return self.base + at, self.size - at


class Machine:
    def __init__(self, world):
        self.world = world

    def entry(self, s):
        """A script starts, or goes on after another."""
        self.rt = [U8 if t in (FP8A, FP8B) else t for t in self.rt]
        self.p = [Pointer() for _ in range(6)]
        if s.mem is not None and s.ptrs:
            self.p[s.ptrs - 1] = Pointer(1, s.mem, 0, len(s.mem), I32)

    def run(self, s, args, flag, budget):
        """-> OK or the fault; all state stays in the machine. `at` is the instruction, in halfwords."""
        self.r = list(args) + [0] * (6 - len(args))
        self.rt = [I64] * len(args) + [I32] * (6 - len(args))
        self.st, self.stt = [], []
        self.lc, self.flag, self.errors, self.used = 0, int(flag), 0, 0
        self.script, self.frames, self.floor = s, [], 0
        self.entry(s)
        self.at = 0
        seen = self.world.seen
        try:
            while True:
                if self.used == budget:
                    return E_BUDGET
                at = self.at
                step = self.script.decoded.get(at)
                if step is None:
                    step = self.script.decoded[at] = decode(self.script, at)
                self.used += 1
                do, name, a, b, following = step
                self.next = following
                if seen is not None:
                    seen(self, name, a, b)
                do(self, a, b)
                if self.next is None:
                    return OK
                self.at = self.next
        except Fault as f:
            return f.args[0]

    # -- operands

    def get(self, c):
        if c < 6:
            return self.r[c], self.rt[c]
        if c == S0:
            return self.st.pop(), self.stt.pop()
        if c == S1:
            return self.st[self.second], self.stt[self.second]
        if c == LC:
            return self.lc, U16
        assert c == ZERO
        return 0, I32

    def kind_of(self, c, other):
        """Type an operand takes on its way into c."""
        if c < 6:
            return self.rt[c]
        if c == S1:
            return self.stt[self.second]
        return U16 if c == LC else other

    def put(self, c, v, t):
        if c < 6:
            self.r[c], self.rt[c] = v, t
        elif c == S0:
            assert len(self.st) - self.base() < self.script.stack
            self.st.append(v)
            self.stt.append(t)
        elif c == S1:
            self.st[self.second], self.stt[self.second] = v, t
        elif c == LC:
            self.lc = self.conv(v, t, U16)

    def base(self):
        return self.frames[-1][4] if self.frames else 0

    def conv(self, v, f, t):
        if f == t:
            return v
        if is_float(f):
            if is_float(t):
                return round_float(v, t)
            v, error = float_to_int(v, t)
            self.errors |= error
            return v
        assert PTR not in (f, t)
        return int_to_float(v, t) if is_float(t) else fit(v, t)

    def count(self, c):
        """What pointers count with."""
        v, t = self.get(c)
        return self.conv(v, t, I32)

    # -- frames: (where to go on, script, its stack floor, pointers to be set up again, floor of the declared depth)

    def enter(self, at, script, floor):
        if len(self.frames) >= 8:
            raise Fault(E_STACK)
        base = self.base() if script is self.script else floor
        self.frames.append((self.next, self.script, self.floor, script is not self.script, base))
        self.script, self.floor, self.next = script, floor, at

    def leave(self, result=None):
        if not self.frames:
            del self.st[self.floor:], self.stt[self.floor:]
            if result is not None:
                self.st.append(result[0])
                self.stt.append(result[1])
            self.next = None
            return
        del self.st[self.floor:], self.stt[self.floor:]
        self.next, script, self.floor, outside, _ = self.frames.pop()
        self.script = script
        if outside:
            self.entry(script)
        elif result is not None:
            self.st.append(result[0])
            self.stt.append(result[1])


# ---- instructions: each is f(machine, a, b) ----

def length(w):
    """Halfwords of the instruction."""
    if w >> 12 == 2:
        return 1 + max(1, BYTES[w & 15] // 2)
    return 2 if w >> 12 == 10 else 1


def op_jump(m, to, conditional):
    if not conditional or m.flag:
        m.next = to


def op_call(m, to, conditional):
    if not conditional or m.flag:
        m.enter(to, m.script, len(m.st))


def op_host(m, k, conditional):
    if conditional and not m.flag:
        return
    status = m.world.call(m, k)
    m.r[0], m.rt[0] = status, I32
    m.flag = int(status == 0)


def op_callscript(m, k, conditional):
    if conditional and not m.flag:
        return
    s = m.world.script(k)
    if s is None:
        raise Fault(E_FAULT)
    if len(m.st) + s.stack > 64:
        raise Fault(E_STACK)
    m.enter(0, s, len(m.st))
    m.entry(s)


def op_nothing(m, a, b):
    pass


def op_banz(m, to, _):
    m.lc = (m.lc - 1) & 0xFFFF
    if m.lc:
        m.next = to


def op_retk(m, mask, _):
    for i in range(6):
        if not mask >> i & 1:
            m.r[i], m.rt[i] = 0, I32
    m.leave()


def op_psha(m, k, _):
    m.put(S0, m.script.constants(k), PTR)


def op_brk(m, k, _):
    m.world.brk(k)


def into(m, x, v, t):
    """X = value in X's type; a push and the zero register take it as it is."""
    if x == ZERO:
        return
    k = m.kind_of(x, t)
    if 6 <= x < 12:
        m.p[x - 6] = v.copy()
        return
    m.put(x, m.conv(v, t, k), k)


def take(m, y):
    return (m.p[y - 6], PTR) if 6 <= y < 12 else m.get(y)


def op_copy(m, x, y):
    v, t = take(m, y)
    into(m, x, v, t)


def op_copyt(m, x, y):
    v, t = take(m, y)
    if 6 <= x < 12:
        m.p[x - 6] = v.copy()
    else:
        m.put(x, v.copy() if t == PTR else v, t)


def op_ccopy(m, x, y):
    v, t = take(m, y)
    if m.flag:
        into(m, x, v, t)


def op_load(m, x, y):
    p = m.p[y - 6]
    at = p.place()
    t = p.kind
    v = from_bits(int.from_bytes(p.buf[at:at + BYTES[t]], "little"), t)
    m.put(x, v, t)


def op_loadi(m, x, y):
    op_load(m, x, y)
    m.p[y - 6].off += 1


def op_store(m, x, y):
    p = m.p[x - 6]
    v, t = m.get(y)
    at = p.place()
    b = bits_of(m.conv(v, t, p.kind), p.kind)
    p.buf[at:at + BYTES[p.kind]] = b.to_bytes(BYTES[p.kind], "little")


def op_storei(m, x, y):
    op_store(m, x, y)
    m.p[x - 6].off += 1


def op_movi(m, r, literal):
    m.put(r, *literal)


def op_pbase(m, p, r):
    m.p[p - 6].off = m.count(r) & 0xFFFFFFFF


def op_psize(m, p, r):
    p = m.p[p - 6]
    n = m.count(r)
    if n < p.elements():
        p.size = max(0, n) * BYTES[p.kind]


def op_ptype(m, p, t):
    m.p[p - 6].kind = t


def op_padd(m, p, r):
    p = m.p[p - 6]
    p.off = (p.off + m.count(r)) & 0xFFFFFFFF


def move_mod(m, p, d):
    n = p.elements()
    p.off = (p.off + d) % n if n else 0


def op_pmod(m, p, r):
    move_mod(m, m.p[p - 6], m.count(r))


def op_plen(m, p, r):
    p = m.p[p - 6]
    into(m, r, max(0, p.elements() - p.off), U32)


def op_addk(m, r, k):
    v, t = m.get(r)
    m.put(r, round_float(v + k, t) if is_float(t) else fit(v + k, t), t)


def op_eqk(m, r, k):
    m.flag = int(m.get(r)[0] == k)


def op_gtk(m, r, k):
    m.flag = int(m.get(r)[0] > k)


def op_ltk(m, r, k):
    m.flag = int(m.get(r)[0] < k)


def arithmetic_right(b, t, n):
    if t in SIGNED and b >> BITS[t] - 1:
        b -= 1 << BITS[t]
    return b >> n


def shift(f):
    def op(m, r, n):
        v, t = m.get(r)
        m.put(r, from_bits(f(bits_of(v, t), t, n), t), t)
    return op


def rotate(b, t, n):
    n %= BITS[t]
    return b << n | b >> BITS[t] - n


def test_bit(m, r, n):
    v, t = m.get(r)
    return bits_of(v, t) >> n & 1


def op_bit0(m, r, n):
    m.flag = 1 - test_bit(m, r, n)


def op_bit1(m, r, n):
    m.flag = test_bit(m, r, n)


def op_bfx(m, r, field):
    d, lsb, n = field
    v, t = m.get(d)
    into(m, r, bits_of(v, t) >> lsb & (1 << n) - 1, U64)


def op_bfi(m, r, field):
    d, lsb, n = field
    x, tx = m.get(r)
    y, ty = m.get(d)
    mask = (1 << n) - 1 << lsb
    m.put(r, from_bits(bits_of(x, tx) & ~mask | bits_of(y, ty) << lsb & mask, tx), tx)


def op_ret(m, a, b):
    m.leave()


def op_retp(m, x, _):
    v = m.get(x)
    m.leave(v)


def op_psht(m, a, b):
    m.put(S0, m.flag, U8)


def op_reset(m, a, b):
    m.r, m.rt = [0] * 6, [I32] * 6
    del m.st[m.floor:], m.stt[m.floor:]
    m.lc = m.flag = 0


def op_dup(m, a, b):
    v, t = m.st[-1], m.stt[-1]
    m.put(S0, v.copy() if t == PTR else v, t)


def op_swap(m, x, y):
    if 6 <= x < 12:
        m.p[x - 6], m.p[y - 6] = m.p[y - 6], m.p[x - 6]
        return
    vx, tx = m.get(x)
    vy, ty = m.get(y)
    m.put(x, vy, ty)
    m.put(y, vx, tx)


def op_conv(m, x, t):
    v, f = m.get(x)
    m.put(x, m.conv(v, f, t), t)


def op_cast(m, x, t):
    v, f = m.get(x)
    m.put(x, from_bits(bits_of(v, f), t), t)


def unary(f):
    def op(m, x, y):
        v, t = m.get(y)
        k = m.kind_of(x, t)
        v = m.conv(v, t, k)
        m.put(x, f(m, v, k), k)
    return op


def negate(m, v, t):
    return -v if is_float(t) else fit(-v, t)


def complement(m, v, t):
    return from_bits(~bits_of(v, t), t)


def magnitude(m, v, t):
    return abs(v) if is_float(t) else fit(abs(v), t)


def square_root(m, v, t):
    if not v > 0:
        return 0.0 if is_float(t) else 0
    return round_float(math.sqrt(v), t) if is_float(t) else math.isqrt(v)


def op_norm(m, x, y):
    v, t = m.get(y)
    n = 0
    if not is_float(t):
        b = bits_of(v, t)
        if t in SIGNED and b >> BITS[t] - 1:
            b ^= MASK[t]
        n = BITS[t] - (t in SIGNED) - b.bit_length()
    into(m, x, n, I32)


def op_negt(m, a, b):
    m.flag = 1 - m.flag


def op_andt(m, x, _):
    v = m.get(x)[0]
    m.flag = int(bool(m.flag) and v != 0)


def op_ort(m, x, _):
    v = m.get(x)[0]
    m.flag = int(bool(m.flag) or v != 0)


def binary(of_ints, of_floats):
    def op(m, x, y):
        a, t = m.get(x)
        b, k = m.get(y)
        b = m.conv(b, k, t)
        if is_float(t):
            m.put(x, round_float(of_floats(m, a, b, t), t), t)
        else:
            m.put(x, fit(of_ints(m, a, b), t), t)
    return op


def bitwise(f):
    def op(m, x, y):
        a, t = m.get(x)
        b, k = m.get(y)
        b = m.conv(b, k, t)
        m.put(x, from_bits(f(bits_of(a, t), bits_of(b, t)), t), t)
    return op


def quotient(m, a, b):
    if b == 0:
        m.errors |= DIV0
        return 0
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def remainder(m, a, b):
    return a - b * quotient(m, a, b) if b else quotient(m, a, b)


def float_quotient(m, a, b, t):
    if b == 0:
        m.errors |= DIV0
        return 0.0
    return divide(a, b)


def divide(a, b):
    """IEEE 754, b is not 0."""
    return a / b


def float_mod(a, b, t):
    q = step(divide(a, b), t)
    if not -2.0 ** 31 - 1 < q < 2.0 ** 31:
        return 0.0
    n = float(int(q))
    return a if n == 0 else step(a - step(n * b, t), t)


def float_remainder(m, a, b, t):
    if b == 0:
        m.errors |= DIV0
        return 0.0
    return float_mod(a, b, t)


def op_ashft(m, x, y):
    a, t = m.get(x)
    n, k = m.get(y)
    if k != U64:
        n = m.conv(n, k, I64)
    n = max(-63, min(63, n))
    if is_float(t):
        v = round_float(a * 2.0 ** n, t)
    else:
        v = fit(a << n, t) if n >= 0 else a >> -n
    m.put(x, v, t)


def larger_magnitude(m, a, b):
    return max(abs(a), abs(b))


def smaller_magnitude(m, a, b):
    return min(abs(a), abs(b))


def modular(sign):
    def op(m, x, y):
        if 6 <= x < 12:
            move_mod(m, m.p[x - 6], sign * m.count(y))
            return
        a, t = m.get(x)
        b, k = m.get(y)
        b = m.conv(b, k, t)
        n, k = m.get(S0)
        n = m.conv(n, k, t)
        if not n > 0:
            m.errors |= DIV0
            m.put(x, 0.0 if is_float(t) else 0, t)
        elif is_float(t):
            r = float_mod(step(a + sign * b, t), n, t)
            r = round_float(step(r + n, t) if r < 0 else r, t)
            m.put(x, r if r < n else 0.0, t)
        else:
            m.put(x, wrap(a + sign * b, U64 if t == U64 else I64) % n, t)
    return op


def op_lerp(m, x, y):
    a, ta = m.get(x)
    b, tb = m.get(y)
    f, tf = m.get(S0)
    b = m.conv(b, tb, ta)
    if not (is_float(ta) or is_float(tf)):
        part = wrap((b - a) * f, I64) >> 15
        m.put(x, fit(wrap(a + part, I64), ta), ta)
        return
    t = ta if is_float(ta) else FP64 if tf == FP64 else FP32
    a, b, f = m.conv(a, ta, t), m.conv(b, ta, t), m.conv(f, tf, t)
    part = step(step(b - a, t) * f, t)
    m.put(x, m.conv(round_float(a + part, t), t, ta), ta)


def numbers(m, x, y):
    """Two operands as they compare: exactly, or both as fp64."""
    a, ta = m.get(x)
    b, tb = m.get(y)
    if is_float(ta) != is_float(tb):
        return float(a), float(b)
    return a, b


def compare(f):
    def op(m, x, y):
        m.flag = int(f(*numbers(m, x, y)))
    return op


def op_tst(m, x, y):
    a, t = m.get(x)
    b, k = m.get(y)
    m.flag = int(bits_of(a, t) & bits_of(m.conv(b, k, t), t) != 0)


def op_inr(m, x, y):
    v, t = m.get(x)
    m.flag = 1
    for bound, sign in ((y, 1), (y + 1, -1)):
        w, k = m.r[bound], m.rt[bound]
        a, b = (float(v), float(w)) if is_float(t) != is_float(k) else (v, w)
        if not (b <= a if sign > 0 else a <= b):
            m.flag = 0


HIGH_BYTE = {
    0x10: op_copy, 0x11: op_load, 0x12: op_store, 0x14: op_copyt, 0x19: op_loadi, 0x1A: op_storei,
    0x30: op_pbase, 0x31: op_psize, 0x32: op_ptype, 0x33: op_padd, 0x34: op_pmod, 0x35: op_plen,
    0xC0: op_ret, 0xC1: op_retp, 0xC2: op_psht, 0xC3: op_reset, 0xC4: op_dup, 0xC5: op_nothing,
    0xC6: op_swap, 0xC7: op_ccopy, 0xC8: op_conv, 0xC9: op_cast,
    0xCA: unary(negate), 0xCB: unary(complement), 0xCC: unary(magnitude), 0xCD: op_norm,
    0xCE: unary(square_root), 0xCF: op_negt, 0xD0: op_andt,
    0xD1: binary(lambda m, a, b: a + b, lambda m, a, b, t: a + b),
    0xD2: binary(lambda m, a, b: a - b, lambda m, a, b, t: a - b),
    0xD3: binary(lambda m, a, b: b - a, lambda m, a, b, t: b - a),
    0xD4: binary(lambda m, a, b: a * b, lambda m, a, b, t: a * b),
    0xD5: binary(quotient, float_quotient),
    0xD6: binary(lambda m, a, b: quotient(m, b, a), lambda m, a, b, t: float_quotient(m, b, a, t)),
    0xD7: binary(remainder, float_remainder),
    0xD8: op_ashft,
    0xD9: bitwise(lambda a, b: a | b), 0xDA: bitwise(lambda a, b: a ^ b), 0xDB: bitwise(lambda a, b: a & b),
    0xDC: bitwise(lambda a, b: ~(a | b)), 0xDD: op_ort,
    0xDE: binary(lambda m, a, b: min(a, b), lambda m, a, b, t: b if b < a else a),
    0xDF: binary(lambda m, a, b: max(a, b), lambda m, a, b, t: b if b > a else a),
    0xE0: binary(lambda m, a, b: a + b * b, lambda m, a, b, t: a + step(b * b, t)),
    0xE1: lambda m, x, _: op_addk(m, x, 1), 0xE2: lambda m, x, _: op_addk(m, x, -1),
    0xE3: binary(larger_magnitude, lambda m, a, b, t: abs(b) if abs(b) > abs(a) else abs(a)),
    0xE4: binary(smaller_magnitude, lambda m, a, b, t: abs(b) if abs(b) < abs(a) else abs(a)),
    0xE5: modular(1), 0xE6: modular(-1), 0xE7: op_lerp,
    0xE8: compare(lambda a, b: a == b), 0xE9: compare(lambda a, b: a != b),
    0xEA: compare(lambda a, b: a < b), 0xEB: compare(lambda a, b: a <= b),
    0xEC: compare(lambda a, b: a > b), 0xED: compare(lambda a, b: a >= b), 0xEE: op_tst, 0xEF: op_inr,
}
SHIFTS = (shift(lambda b, t, n: b << n), shift(lambda b, t, n: b >> n), shift(arithmetic_right), shift(rotate))
ONE_BIT = (shift(lambda b, t, n: b | 1 << n), shift(lambda b, t, n: b & ~(1 << n)), op_bit0, op_bit1)
ONE_POP = (0x0320, 0x0321, 0x0322, 0x0323, 0x0324, 0x0325, 0x0326)


def decode_low(s, w, at, following):
    high, k = w >> 8, w & 127
    conditional = w >> 7 & 1
    if high == 0x00:
        return op_jump, s.labels[k], conditional
    if high == 0x01:
        return op_jump, following + (k - 128 if k >= 64 else k), conditional
    if high == 0x02:
        return op_call, s.labels[k], conditional
    if high == 0x03:
        return op_host, k, conditional
    if high == 0x04:
        return (op_callscript, k & 63, conditional) if k & 64 else (op_host, 128 + k, conditional)
    if high == 0x05:
        return op_nothing, 0, 0
    if high == 0x06:
        return op_banz, s.labels[k], 0
    if high == 0x07:
        return op_retk, w & 63, 0
    if high == 0x08:
        return op_psha, k, 0
    assert high == 0x0F
    return op_brk, w & 255, 0


def literal(words, t):
    b = sum(w << 16 * i for i, w in enumerate(words))
    return from_bits(b, t), t


def decode(s, at):
    """-> (function, name for the statistics, a, b, index of the following instruction)"""
    w = s.words[at]
    following = at + length(w)
    top, a, b = w >> 12, w >> 8 & 15, w & 255
    s8 = b - 256 if b > 127 else b
    name = w >> 8
    if top == 0:
        f, a, b = decode_low(s, w, at, following)
        name = 0xB0 if f is op_callscript else w >> 8
    elif top == 2:
        f, b, name = op_movi, literal(s.words[at + 1:following], w & 15), 0x20
    elif top in (4, 5, 6, 7):
        f, b, name = (op_addk, op_eqk, op_gtk, op_ltk)[top - 4], s8, top << 4
    elif top == 8:
        f, b, name = SHIFTS[b >> 6], b & 63, 0x80 | b >> 6
    elif top == 9:
        f, b, name = ONE_BIT[b >> 6], b & 63, 0x90 | b >> 6
    elif top == 10:
        field = s.words[at + 1]
        f, name = (op_bfi if w >> 4 & 15 else op_bfx), 0xA0 | w >> 4 & 15
        b = (w & 15, field & 63, (field >> 8 & 63) + 1)
    else:
        f, a, b = HIGH_BYTE[w >> 8], w >> 4 & 15, w & 15
    return with_second(f), name, a, b, following


def with_second(f):
    """s1 is the entry that was second when the instruction began."""
    def op(m, a, b):
        m.second = len(m.st) - 2
        f(m, a, b)
    return op
