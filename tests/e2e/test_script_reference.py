"""Script machine against what is written: the reference interpreter tests/oracle/twv16.py and the tables of the document.

`make soak-script` and `make soak-script-verify` do the same for long.
"""
import os
import re
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
import script_diff  # noqa: E402

BATCH = os.environ.get("TW_SCRIPT_BATCH", os.path.join(ROOT, "build", "host", "script_batch"))
SOAK = os.environ.get("TW_SCRIPT_SOAK", os.path.join(ROOT, "build", "debug", "script_soak"))
DIFF = os.path.join(ROOT, "tests", "oracle", "script_diff.py")
BAD_OP, RESERVED = -80, -81


def test_random_verified_scripts_end_as_in_the_reference_interpreter():
    run = subprocess.run([sys.executable, DIFF, BATCH, "--programs", "60000", "--coverage"], stdout=subprocess.PIPE, text=True)
    assert run.returncode == 0, run.stdout[-4000:]
    assert "60000 programs" in run.stdout and " 0 differences" in run.stdout
    seen, opcodes, pairs = map(int, re.search(r"(\d+) of (\d+) opcodes, (\d+) of", run.stdout).groups())
    assert seen == opcodes and pairs > 4000


def test_what_the_verifier_accepts_stays_within_windows_stack_types_and_budget():
    run = subprocess.run([SOAK, "150000", "11"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.returncode == 0, run.stdout[-4000:]
    assert run.stdout.startswith("150000 accepted programs")


# ---- every word, by the table of docs/SCRIPT_ISA.md ----

def field(token):
    """(bits, what may stand there); digits are as wide as the other fields leave room: 0 bits here."""
    if token == "C":
        return 1, range(2)
    if token == "P":
        return 4, range(6, 12)
    if token in ("X", "Y", "R", "D", "T"):
        return 4, range(16)
    return (0, (int(token, 2),)) if token.isdigit() else (int(token[1]), range(1 << int(token[1])))


def low_bytes(text):
    tokens = text.split(",")[0].split()
    digits = 8 - sum(field(t)[0] for t in tokens)
    out = [0]
    for n, values in map(field, tokens):
        out = [v << (n or digits) | x for v in out for x in values]
    return out


def documented_words():
    words = set()
    text = open(os.path.join(ROOT, "docs", "SCRIPT_ISA.md"), encoding="utf-8").read()
    table = text[text.index("<!-- BEGIN opcodes"):text.index("<!-- END opcodes")]
    for row in re.findall(r"^\| `(..)` \| (.*?) \|", table, re.M):
        highs = [int(row[0][0] + x, 16) for x in "0123456789ABCDEF"] if row[0][1] == "R" else [int(row[0], 16)]
        words |= {h << 8 | low for h in highs for low in low_bytes(row[1])}
    return words


def test_every_word_is_legal_exactly_when_the_table_lists_it():
    listed = documented_words()
    batch = script_diff.Batch(BATCH)
    wrong = []
    for w in range(65536):
        code = struct.pack("<6H", w, 0, 0, 0, 0, 0xC000)  # zeros: literals, and jumps to a label that is not there
        program = struct.pack("<BBBBI3q", 1, 0, 0, 0, 64, 0, 0, 0) + struct.pack("<HHBBBBI", len(code), 0, 6, 6, 8, 0, 0) + code
        err, at = struct.unpack_from("<iI", batch.run(program))
        reserved = w >> 12 == 0xB or w >= 0xF000
        refused = err in (BAD_OP, RESERVED) and at == 0
        if refused != (w not in listed) or (refused and (err == RESERVED) != reserved):
            wrong.append(f"{w:04X}: {err} at {at}")
    batch.end()
    assert len(listed) > 20000 and not wrong, wrong[:20]
