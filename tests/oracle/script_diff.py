"""script_diff.py PROGRAM [--programs N] [--seed S] [--jobs J] [--coverage]: random verified TWV-16 programs, twice.

PROGRAM is build/.../script_batch: it makes programs, verifies and runs them. Here each is run once more by the reference of
twv16.py, and the whole final state must be the same: registers with types, stack, pointers, memory, T, lc, errors,
instructions, place and fault. Prints `N programs, M instructions, D differences`; 1 is returned when there are any.
"""
import argparse
import collections
import multiprocessing
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import twv16 as t  # noqa: E402

ERRORS = {t.OK: 0, t.E_BUDGET: -92, t.E_FAULT: -94, t.E_STACK: -86}
M64 = (1 << 64) - 1


def mix(h, v):
    h = (h ^ v & M64) * 0xFF51AFD7ED558CCD & M64
    return h ^ h >> 32


class World:
    """Answers made of what is asked, as in script_batch.c."""

    def __init__(self, scripts, seen):
        self.scripts, self.seen, self.breaks = scripts, seen, 0

    def script(self, k):
        return self.scripts[k] if 0 < k < len(self.scripts) else None

    def brk(self, k):
        self.breaks = (self.breaks + k) & 0xFFFFFFFF

    def call(self, m, k):
        popped = as_int(m.st.pop(), m.stt.pop()) if 32 <= k <= 38 else 0
        h = mix(mix(k + 1, self.breaks), popped)
        for i in range(3):
            h = mix(h, as_int(m.r[i], m.rt[i]))
        at = m.p[1].window(False)
        if at is not None and at[1]:
            h = mix(h, m.p[1].buf[at[0]] + 256 * at[1])
        at = m.p[0].window(True)
        if at is not None and at[1]:
            m.p[0].buf[at[0]] = h >> 50 & 255
        if h & 1:
            m.r[1], m.rt[1] = h >> 40 & 127, (h >> 8) % 9
        return h >> 20 & 15 if h & 6 == 0 else 0


def as_int(v, kind):
    if t.is_float(kind):
        return t.float_to_int(v, t.I64)[0]
    return v


# ---- records ----

def program(b):
    n, flag, _, n_args, budget = struct.unpack_from("<BBBBI", b)
    args = struct.unpack_from("<3q", b, 8)[:n_args]
    at = 32
    scripts = []
    for _ in range(n):
        code, pool, regs, ptrs, stack, _, mem = struct.unpack_from("<HHBBBBI", b, at)
        at += 12
        memory = bytearray(b[at:at + mem]) if mem else None
        at += mem
        pool_at = at + (code + 3) // 4 * 4
        end = pool_at + pool if pool else at + code
        scripts.append(t.Script(b[at:at + code], b[pool_at:end] if pool else b"", regs, ptrs, stack, memory))
        at = end
    return scripts, args, flag, budget


def value(kind, v):
    return struct.pack("<BQ", kind, 0 if kind == t.PTR else t.bits_of(v, kind))


def state(m, err, scripts):
    out = [struct.pack("<iIiIIBBHH", 0, 0, ERRORS[err], 2 * m.at, m.used, m.flag, m.errors, m.lc, len(m.st))]
    out += [value(k, v) for k, v in zip(m.rt, m.r)]
    out += [value(k, v) for k, v in zip(m.stt, m.st)]
    out += [struct.pack("<BBIII", p.space, p.kind, p.size, p.off, p.base) for p in m.p]
    out += [bytes(s.mem) for s in scripts if s.mem is not None]
    return b"".join(out)


def fields(b):
    """A result in words, for the one who looks for the difference."""
    if len(b) < 26:
        return ["result " + b.hex()]
    head = struct.unpack_from("<iIiIIBBHH", b)
    out = ["err %d pc %d used %d T %d errors %d lc %d sp %d" % head[2:]]
    at = 26
    for i in range(6 + head[8]):
        kind, v = struct.unpack_from("<BQ", b, at)
        at += 9
        shown = t.from_bits(v, kind) if kind != t.PTR else "pointer"
        out.append(f"{'r' if i < 6 else 's'}{i if i < 6 else i - 6} type {kind} {shown} {v:x}")
    for i in range(6):
        out.append("p%d space %d type %d size %d offset %d base %d" % (i, *struct.unpack_from("<BBIII", b, at)))
        at += 14
    return out + ["mem " + b[at:].hex()]


def run_one(b, seen=None):
    scripts, args, flag, budget = program(b)
    m = t.Machine(World(scripts, seen))
    err = m.run(scripts[0], args, flag, budget)
    return state(m, err, scripts), m


def explain(path, b, want, got, why):
    batch = Batch(path)
    try:
        text = first_difference(batch, b)[1]
    except Exception as e:
        text = f"not located: {e!r}"
    batch.end()
    return report(b, want, got, why) + "\n" + text


def report(b, want, got, why=""):
    lines = [f"difference {why}"]
    scripts = program(b)[0]
    for i, s in enumerate(scripts):
        lines.append(f" script {i}: regs {s.regs} ptrs {s.ptrs} stack {s.stack} mem {len(s.mem or b'')} pool {s.pool.hex()}")
        lines.append("  " + " ".join(f"{w:04x}" for w in s.words))
    lines += [f" {x:40}" + (f" | reference: {y}" if x != y else "") for x, y in zip(fields(got), fields(want) + [""] * 64)]
    lines.append(" program " + b.hex())
    return "\n".join(lines)


class Batch:
    """script_batch as a partner: program in, result out."""

    def __init__(self, path):
        self.p = subprocess.Popen([path, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, b):
        self.p.stdin.write(struct.pack("<I", len(b)) + b)
        self.p.stdin.flush()
        return next(records(self.p.stdout))

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def first_difference(batch, b):
    """Words and states at the first instruction whose effect differs: shorter and shorter budgets."""
    low, high = 0, struct.unpack_from("<I", b, 4)[0]
    while low + 1 < high:
        k = (low + high) // 2
        cut = b[:4] + struct.pack("<I", k) + b[8:]
        same = run_one(cut)[0] == batch.run(cut)
        low, high = (k, high) if same else (low, k)
    before, m = run_one(b[:4] + struct.pack("<I", high - 1) + b[8:]) if high > 1 else (b"", None)
    words = (m.script if m else program(b)[0][0]).words[m.at if m else 0:][:2]
    cut = b[:4] + struct.pack("<I", high) + b[8:]
    text = [f"instruction {' '.join(f'{w:04x}' for w in words)}, {m.used if m else 0} before it"]
    want = dict(x.split(" ", 1) for x in fields(run_one(cut)[0]))
    old = dict(x.split(" ", 1) for x in fields(before))
    for x, y in (x.split(" ", 1) for x in fields(batch.run(cut))):
        if want.get(x) != y:
            text.append(f"  {x} {y} | reference: {want.get(x)} | before: {old.get(x)}")
        elif old.get(x) != y:
            text.append(f"  {x} {y} | before: {old.get(x)}")
    return words[0], "\n".join(text)


# ---- a share of the work ----

def records(stream):
    while True:
        head = stream.read(4)
        if len(head) < 4:
            return
        yield stream.read(struct.unpack("<I", head)[0])


def share(job):
    path, seed, count, mutated, coverage, show = job
    cover = collections.Counter()

    def seen(m, name, a, b):
        x = m.rt[a] if 0 <= a < 6 else 16
        y = m.rt[b] if isinstance(b, int) and 0 <= b < 6 else 16
        if a >= t.S0 and m.st:
            x = m.stt[-1]
        cover[name, x, y] += 1

    p = subprocess.Popen([path, str(seed), str(count), str(mutated)], stdout=subprocess.PIPE)
    it = records(p.stdout)
    instructions = programs = fast = 0
    different = []
    faults = collections.Counter()
    for b in it:
        if len(b) == 8:
            fast = struct.unpack("<II", b)[1]
            break
        got = next(it)
        try:
            want, m = run_one(b, seen if coverage else None)
        except Exception as e:
            want, m = repr(e).encode(), None
        programs += 1
        if m is not None:
            instructions += m.used
        faults[struct.unpack_from("<i", got, 8)[0]] += 1
        if want != got:
            different.append(explain(path, b, want, got, f"(seed {seed}, program {programs})") if len(different) < show else "")
    if p.wait() != 0:
        different.append(f"{path} ended with {p.returncode}")
    return programs, instructions, fast, different, faults, cover


# ---- coverage ----

BINARY = [0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xDB, 0xDC, 0xDE, 0xDF, 0xE0, 0xE3, 0xE4, 0xE5, 0xE6,
          0xE7, *range(0xE8, 0xEF), 0x10, 0x14, 0xC6, 0xC7]


OPCODES = 86  # rows of script_opcodes.def


def show_coverage(cover):
    numbers = [k for k in range(16) if k not in (t.FP8A, t.FP8B, t.PTR)]
    names = collections.Counter()
    for (name, _, _), n in cover.items():
        names[name] += n
    pairs = sum((op, x, y) in cover for op in BINARY for x in numbers for y in numbers)
    print(f"coverage: {len(names)} of {OPCODES} opcodes, {pairs} of {len(BINARY) * len(numbers) ** 2} (opcode, type, type)")
    print("rarest: " + ", ".join(f"{name:02X} {n}" for name, n in names.most_common()[:-9:-1]))


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("program")
    a.add_argument("--programs", type=int, default=20000)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--mutated", type=int, default=30, help="percent of programs with changed words")
    a.add_argument("--coverage", action="store_true")
    a.add_argument("--show", type=int, default=3)
    o = a.parse_args()
    size = max(1, min(5000, o.programs // o.jobs))
    jobs = [(o.program, o.seed * 1000003 + i, size, o.mutated, o.coverage, o.show)
            for i in range((o.programs + size - 1) // size)]
    programs = instructions = fast = different = 0
    faults, cover = collections.Counter(), collections.Counter()
    with multiprocessing.Pool(o.jobs) as pool:
        for n, k, quick, texts, f, c in pool.imap_unordered(share, jobs):
            programs, instructions, fast = programs + n, instructions + k, fast + quick
            faults += f
            cover += c
            for text in texts:
                different += 1
                if text and different <= o.show:
                    print(text, flush=True)
    print(f"compact machine at once and in portions; fast machine: {fast} scripts")
    print("ends: " + ", ".join(f"{name} {faults[code]}" for name, code in ERRORS.items()))
    if o.coverage:
        show_coverage(cover)
    print(f"{programs} programs, {instructions} instructions, {different} differences")
    return 1 if different or programs < o.programs else 0


if __name__ == "__main__":
    sys.exit(main())
