"""cost.py: instructions of a Cortex-M4 for each instruction of a script.

    cost.py rows            C source of the scripts to measure, on standard output
    cost.py run ELF         run them in QEMU; compare with engine/script/script_costs.def, fail when a figure is higher
    cost.py update ELF      run them and write engine/script/script_costs.def
"""
import re
import struct
import subprocess
import sys

DEF = "engine/script/script_opcodes.def"
COSTS = "engine/script/script_costs.def"
LIMIT = 60
QEMU = ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none",
        "-icount", "shift=5,sleep=off", "-semihosting-config", "enable=on,target=native", "-kernel"]
# The columns of the table: types of one column take the largest figure of any.
COLUMNS = {"i32": [0, 1, 2, 3, 4, 5], "i64": [7, 8], "f32": [11, 12], "f64": [13]}
BITS = {0: 8, 1: 8, 2: 16, 3: 16, 4: 32, 5: 32, 7: 64, 8: 64}
SIGNED = (0, 2, 4, 7)
R0, R1, R2, P5, LC, S0 = 0, 1, 2, 11, 12, 14


def half(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def image(t, x):
    if t in BITS:
        return int(x) & ((1 << BITS[t]) - 1)
    return {11: half, 12: lambda v: struct.unpack("<I", struct.pack("<f", v))[0],
            13: lambda v: struct.unpack("<Q", struct.pack("<d", v))[0]}[t](x)


def movi(t, r, x):
    """Words that load x of type t."""
    n = {11: 1, 12: 2, 13: 4}.get(t) or max(1, BITS[t] // 16)
    bits = image(t, x)
    return [0x2000 | r << 8 | t] + [bits >> 16 * i & 0xFFFF for i in range(n)]


def pairs(t):
    """Operands that show the long ways: limits, signs, carries."""
    if t in BITS:
        top = (1 << (BITS[t] - (t in SIGNED))) - 1
        low = -top - 1 if t in SIGNED else 0
        return [(100, 7), (top, 3), (low, top), (top, top)] + ([(-100, 7)] if t in SIGNED else [])
    return [(1.5, -2.25), (-1000.0, 3.0), (60000.0, 0.0078125)]


class Rows:
    def __init__(self):
        self.rows = []  # (name, column, words, setup)

    def add(self, name, column, setup, op, after=(), pool=b""):
        setup = [[0xC500]] + list(setup)  # a limit of 0 would mean no limit
        words = [w for s in setup for w in s] + list(op) + list(after) + [0xC500, 0xC000]
        self.rows.append((name, column, words, len(setup), pool))


def pool_of_one():
    return struct.pack("<hhBBHH", 1, 2, 9, 2, 0, 1)


def row(rows, key, name, form, effect):
    def plain(setup, op, after=(), pool=b""):
        rows.add(name, "i32", setup, op, after, pool)

    word = key << 8 if key != 0xB0 else 0x0440
    if name in ("JMP", "CALL"):
        return plain([], [word | 1], [0x0501])
    if name in ("JMPR", "CALLSYS", "CALLAPP", "CALLSCRIPT", "BRK"):
        return plain([], [word | 1], [0xC500])
    if name == "BANZ":
        return plain([movi(3, R0, 5), [0x10C0]], [word | 1], [0x0501])
    if name in ("RET", "RETK", "RETP"):
        return rows.rows.append((name, "i32", [0x0201, 0xC000, 0x0501, word, 0xC000], 2, b""))
    if name == "PSHA":
        return plain([], [word | 9], [], pool_of_one())
    if form in ("NONE", "LABEL"):
        return plain([movi(4, S0, 5)] if name == "DUP" else [], [word | (1 if form == "LABEL" else 0)])
    for column, types in COLUMNS.items():
        for t in types:
            for a, b in pairs(t):
                values = [movi(t, R0, a), movi(t, R1, b)]
                typed(rows, key, name, form, effect, column, t, values, a, b)


def typed(rows, key, name, form, effect, column, t, values, a, b):
    word = key << 8
    to_p5 = [0x3200 | P5 << 4 | t]
    if form in ("LOAD", "LOADI"):
        rows.add(name, column, [to_p5] + values + [[0x1200 | P5 << 4 | R0]], [word | R0 << 4 | P5])
    elif form in ("STORE", "STOREI"):
        rows.add(name, column, [to_p5] + values, [word | P5 << 4 | R0])
    elif form == "LIT":
        rows.add(name, column, [], movi(t, R0, a))
    elif form in ("PR", "RP"):
        rows.add(name, column, [movi(t, R0, 3)], [word | P5 << 4 | R0])
    elif form == "PT":
        rows.add(name, column, [], [word | P5 << 4 | t])
    elif form in ("RS8", "RN6"):
        small = 3 if form == "RN6" else 100
        rows.add(name, column, values, [(key & 0xF0) << 8 | R0 << 8 | (key & 3) << 6 * (form == "RN6") | small
                                        if form == "RN6" else word | R0 << 8 | small])
    elif form == "FIELD":
        rows.add(name, column, values, [0xA000 | R0 << 8 | (key & 1) << 4 | R1, 0x0301])
    elif form == "XT":
        for to in (range(16) if name == "CONV" else [t]):
            if to not in (6, 9, 10, 14, 15):
                rows.add(name, widest(column, to), values, [word | R0 << 4 | to])
    elif form == "X":
        rows.add(name, column, values, [word | R0 << 4])
    elif effect in ("WRAP", "BLEND"):
        rows.add(name, column, values + [movi(t, S0, 100 if t in BITS else 0.25)], [word | R0 << 4 | R1])
    elif form == "RANGE":
        rows.add(name, column, values + [movi(t, R2, b)], [word | R0 << 4 | R1])
    else:
        rows.add(name, column, values, [word | R0 << 4 | R1])


def widest(column, to):
    order = list(COLUMNS)
    other = next(c for c, types in COLUMNS.items() if to in types)
    if {column, other} == {"i64", "f32"}:
        return "f64"
    return order[max(order.index(column), order.index(other))]


def build():
    rows = Rows()
    text = re.sub(r"/\*.*?\*/", "", open(DEF).read(), flags=re.S)
    for key, name, form, effect in re.findall(r'^TW_SOP\((0x\w+), (\w+), "\w+", (\w+), (\w+)', text, flags=re.M):
        row(rows, int(key, 16), name, form, effect)
    return rows.rows


def emit():
    out = ['#include "firmware/script_cost/cost_rows.h"\n']
    table = []
    for i, (_, _, words, setup, pool) in enumerate(build()):
        code = b"".join(struct.pack("<H", w) for w in words)
        data = code + (bytes(-len(code) % 4) + pool if pool else b"")
        out.append(f"static const uint8_t code_{i}[] = {{{', '.join(str(x) for x in data)}}};")
        table.append(f"    {{code_{i}, {len(code)}, {len(pool)}, {setup}}},")
    out.append("const cost_row_t cost_rows[] = {\n" + "\n".join(table) + "\n};")
    out.append(f"const unsigned cost_rows_n = {len(table)};")
    print("\n".join(out))


def run(elf):
    """{name: {column: figure}} in the order of the .def file."""
    done = subprocess.run(QEMU + [elf], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    figures = dict(map(int, m) for m in re.findall(r"^(\d+) (\d+)$", done.stdout + done.stderr, flags=re.M))
    rows = build()
    if done.returncode != 0 or len(figures) != len(rows):
        sys.exit(f"script_cost: exit status {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
    table = {}
    for i, (name, column, *_rest) in enumerate(rows):
        of = table.setdefault(name, {})
        of[column] = max(of.get(column, 0), figures[i])
    return table


def stated():
    found = re.findall(r"^TW_SCOST\((\w+), (\d+), (\d+), (\d+), (\d+)\)", open(COSTS).read(), flags=re.M)
    return {name: dict(zip(COLUMNS, map(int, values))) for name, *values in found}


HEAD = """/* script_costs.def - instructions of a Cortex-M4F (-Os) that an instruction of a script takes, at most.
 *     TW_SCOST(NAME, int, int64, float, fp64)
 * int: 8 to 32 bits, and instructions that compute nothing. float: fp16 and fp32. 0: no such form. Fetch, budget and
 * dispatch included, the host's own code not. Counted by `make script-cost` (QEMU), which also writes this file. */
"""


def update(table):
    lines = [f"TW_SCOST({name}, {', '.join(str(of.get(c, 0)) for c in COLUMNS)})" for name, of in table.items()]
    open(COSTS, "w").write(HEAD + "\n".join(lines) + "\n#undef TW_SCOST\n")


def main():
    if sys.argv[1] == "rows":
        return emit()
    table = run(sys.argv[2])
    if sys.argv[1] == "update":
        update(table)
    worst = {c: max((of.get(c, 0), name) for name, of in table.items()) for c in COLUMNS}
    for column, (figure, name) in worst.items():
        over = sum(of.get(column, 0) > LIMIT for of in table.values())
        print(f"cost script-m4 {column} worst={figure} ({name.lower()}) above-{LIMIT}={over}")
    want = stated()
    late = [f"{name.lower()} {c}: {of[c]}, stated {want.get(name, {}).get(c)}" for name, of in table.items()
            for c in of if of[c] > want.get(name, {}).get(c, 0)]
    if late:
        sys.exit("script_cost: more than engine/script/script_costs.def says: " + "; ".join(late[:5]))


main()
