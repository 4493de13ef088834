#!/usr/bin/env python3
"""Write the generated tables of docs/SCRIPT_ISA.md from engine/script/*.def.

Each table stands between `<!-- BEGIN name: file -->` and `<!-- END name -->`; the rest of the page is
written by hand. With --check nothing is written and a stale page is an error.
"""
import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "SCRIPT_ISA.md"

# Encodings and operands of the forms, as script_opcodes.def describes them.
FORMS = {
    "CLABEL": ("C k7", "#k"), "CREL": ("C s7", "n"), "CSYS": ("C k7", "k"), "CAPP": ("C 0 k6", "k"),
    "CSCR": ("C 1 k6", "k"), "LABEL": ("0 k7", "#k"), "MASK": ("00 m6", "m"), "K8": ("k8", "k"),
    "XY": ("X Y", "X Y"), "LOAD": ("X P", "X *P"), "LOADI": ("X P", "X *P+"), "STORE": ("P Y", "*P Y"),
    "STOREI": ("P Y", "*P+ Y"), "LIT": ("R 0 T, literal", "T R k"), "PR": ("P R", "P R"), "RP": ("P R", "P R"),
    "PT": ("P T", "P T"), "RS8": ("R s8", "R k"), "RN6": ("R kk n6", "R n"), "FIELD": ("R q D, word", "R D lsb len"),
    "NONE": ("00", ""), "X": ("X 0", "X"), "XT": ("X T", "X T"), "RANGE": ("X Y", "X Y"),
}


def rows(name, macro):
    text = (ROOT / "engine" / "script" / name).read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    yield from csv.reader(re.findall(rf"^{macro}\((.*)\)$", text, flags=re.M), skipinitialspace=True)


def cell(text):
    return text.replace("|", "\\|")


def word(key, form):
    """High byte of the word, and what the low byte holds."""
    if form == "CSCR":
        return "04"
    high = f"{key:02X}"
    return high[0] + "R" if form in ("LIT", "RS8", "RN6", "FIELD") else high


def costs():
    """Figures of each instruction: int, int64, float, fp64; one when all are of one kind."""
    for name, *figures in rows("script_costs.def", "TW_SCOST"):
        yield name, figures[0] if figures[1:] == ["0"] * 3 else " ".join(figures)


def opcodes():
    yield "| high byte | low byte | text | cost | meaning |"
    yield "|---|---|---|---|---|"
    figures = dict(costs())
    for key, name, mnemonic, form, _, _, meaning in rows("script_opcodes.def", "TW_SOP"):
        cost = figures[name]
        bits, operands = FORMS[form]
        low = bits
        if form == "RN6":
            low = f"{int(key, 16) & 3:02b} n6"
        elif form == "FIELD":
            low = f"{int(key, 16) & 15:X} D, word"
        elif form == "LIT":
            low = "0 T, literal"
        elif form == "RS8":
            low = "s8"
        text = f"{mnemonic} {operands}".strip()
        if form.startswith("C"):
            text += f"`, `c{text}"
        yield f"| `{word(int(key, 16), form)}` | {low} | `{text}` | {cost} | {cell(meaning)} |"


TESTS = {"EQK", "GTK", "LTK", "BIT0", "BIT1", "ANDT", "ORT", "TST", "INR", "EQU", "NEQ", "LTS", "LTE", "GTS", "GTE",
         "NEGT", "RESET", "CALLSYS", "CALLAPP"}
DIVIDES = {"DIV", "RDIV", "MOD", "ADDM", "SUBM"}
BITS = {"SHL", "SHR", "ASR", "ROT", "BSET", "BCLR", "BIT0", "BIT1", "BFX", "BFI", "NOT", "OR", "XOR", "AND", "NOR", "TST"}
KEEPS = {"COPYT", "SWAP", "LOAD", "LOADI", "MOVI", "RETP", "DUP", "PSHT", "PSHA", "CAST"}


def reasons():
    yield "| code | reason |"
    yield "|---|---|"
    for _, error, text in rows("script_reasons.def", "TW_SREASON"):
        yield f"| `SCR_{error}` | {text.replace('%x', 'X').replace('%y', 'Y')} |"


def types_of(name, form, effect):
    if form in ("LOAD", "LOADI", "STORE", "STOREI"):
        return "type of the element; any"
    if form in ("PR", "RP", "PT"):
        return "R any but fp8" if form != "PT" else "any but ptr"
    if form == "LIT":
        return "any but ptr"
    if name == "CAST":
        return "any but ptr"
    if effect in ("MOVE", "CMOVE", "SWAP"):
        return "any; two pointers"
    if effect == "WRAP":
        return "integers, floats; pointer X"
    if name in BITS:
        return "integers, floats: their bits"
    if effect != "NONE":
        return "integers, floats"
    return ""


def errors_of(name, effect):
    bits = (["0"] if name in DIVIDES else [])
    if effect in ("BINARY", "UNARY", "BLEND", "WRAP", "MOVE", "CMOVE", "STORE", "IN", "EDIT") and name not in KEEPS and \
            name not in ("SHL", "SHR", "ASR", "ROT", "BSET", "BCLR", "INC", "DEC", "ADDK", "NORM", "BFI"):
        bits.append("1")
    return ", ".join(bits)


def faults_of(name, form):
    if form in ("LOAD", "LOADI", "STORE", "STOREI"):
        return "`SCR_FAULT` outside the window"
    return "`SCR_FAULT` no such script, `SCR_STACK` too deep" if name == "CALLSCRIPT" else ""


def entries():
    yield "| instruction | types | sets T | error bits | faults | example | gives |"
    yield "|---|---|---|---|---|---|---|"
    shown = {name: (text, result) for name, text, result in rows("script_examples.def", "TW_SEXAMPLE")}
    for _, name, mnemonic, form, effect, _, _ in rows("script_opcodes.def", "TW_SOP"):
        text, result = shown[name]
        plus = "+" if form in ("LOADI", "STOREI") else ""
        yield (f"| `{mnemonic}{plus}` | {types_of(name, form, effect)} | {'yes' if name in TESTS else ''} | "
               f"{errors_of(name, effect)} | {faults_of(name, form)} | `{cell(text)}` | `{result}` |")


def syscalls():
    notes = {k: rest for k, *rest in rows("script_syscalls.def", "TW_SYSCALL_DOC")}
    yield "| k | name | pops | arguments | result | status besides 0 | cost |"
    yield "|---|---|---|---|---|---|---|"
    for k, _, name, pops, privileged, arguments in rows("script_syscalls.def", "TW_SYSCALL"):
        mark = " (privileged)" if privileged == "1" else ""
        result, errors, cost = map(cell, notes[k])
        yield f"| {k} | `{name}`{mark} | {pops} | {cell(arguments)} | {result} | {errors} | {cost} |"


def compute():
    yield "| r0 | name | takes | result |"
    yield "|---|---|---|---|"
    for number, _, name, form, meaning in rows("script_compute.def", "TW_COMPUTE"):
        yield f"| {number} | `{name}` | {form} | {cell(meaning)} |"


def types():
    yield "| code | type | bytes | data line |"
    yield "|---|---|---|---|"
    for code, _, name, size, data in rows("script_types.def", "TW_STYPE"):
        yield f"| {code} | `{name}` | {size} | `{data}` |"


def main():
    page = PAGE.read_text()
    fresh = page
    for name, table in (("opcodes", opcodes), ("examples", entries), ("reasons", reasons),
                        ("syscalls", syscalls), ("compute", compute), ("types", types)):
        begin, end = f"<!-- BEGIN {name}: script_{name}.def -->", f"<!-- END {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            sys.exit(f"{PAGE}: markers of table '{name}' missing")
        head, rest = fresh.split(begin)
        tail = rest.split(end)[1]
        fresh = head + begin + "\n" + "\n".join(table()) + "\n" + end + tail
    if "--check" in sys.argv[1:]:
        if fresh != page:
            sys.exit(f"{PAGE.relative_to(ROOT)} is stale: run tools/gen_docs_script.py")
    else:
        PAGE.write_text(fresh)


if __name__ == "__main__":
    main()
