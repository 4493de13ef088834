#!/usr/bin/env python3
"""Cases of tests/golden/errors: bad inputs and what the tool answers. The format is in the README there."""
import argparse
import difflib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "tests", "golden", "errors")
TOOL = os.environ.get("TW_TOOL", os.path.join(ROOT, "build", "host", "tunewire"))
DEFAULT = "compile g.txt -o g.twg"
DIRECTIVE = re.compile(r"(### |--- |\+\+\+ |\$ |! |=== )")


class Case:
    def __init__(self, source, line, claim):
        self.source, self.line, self.claim = source, line, claim
        self.head, self.steps, self.want, self.verdict = [], [], [], None

    @property
    def name(self):
        return f"{os.path.basename(self.source)}: {self.claim}"

    def wants_stdout(self):
        return "+stdout" in self.verdict


def read_cases(path):
    """(lines before the first case, cases)."""
    intro, cases, body = [], [], None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        case = cases[-1] if cases else None
        if line.startswith("### "):
            cases.append(Case(path, number, line[4:]))
            body = None
        elif case is None:
            intro.append(line)
        elif case.verdict is not None:
            case.want.append(line)
        elif line.startswith("=== "):
            case.verdict = line[4:]
        else:
            case.head.append(line)
            if DIRECTIVE.match(line):
                word, rest = line.split(" ", 1)
                body = []
                case.steps.append((word, rest, body))
            elif body is None:
                raise ValueError(f"{path}:{number}: a line before any directive")
            else:
                body.append(line)
    for case in cases:
        if case.verdict is None:
            case.verdict = "0"
    return intro, cases


def edit(path, hunk):
    """Replace the kept and removed lines of the hunk, found once and side by side, by the kept and added ones."""
    text = open(path, encoding="utf-8").read().split("\n")
    old = [h[1:].strip() for h in hunk if h[:1] in " -"]
    if not old:
        text = text[:-1] if text[-1] == "" else text
        text += [h[1:] for h in hunk] + [""]
    else:
        found = [i for i in range(len(text)) if [t.strip() for t in text[i:i + len(old)]] == old]
        assert len(found) == 1, f"{os.path.basename(path)}: {old} is there {len(found)} times"
        at, new = found[0], []
        for h in hunk:
            if h[:1] == "+":
                new.append(h[1:])
            else:
                new += [text[at]] if h[:1] == " " else []
                at += 1
        text[found[0]:found[0] + len(old)] = new
    open(path, "w", encoding="utf-8").write("\n".join(text))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def repair(path):
    data = bytearray(open(path, "rb").read())
    struct.pack_into("<I", data, 8, len(data))
    struct.pack_into("<I", data, 16, crc32c(data[128:]))
    struct.pack_into("<I", data, 12, 0)
    struct.pack_into("<I", data, 12, crc32c(data[:128]))
    open(path, "wb").write(data)


def change(folder, words):
    path = os.path.join(folder, words[1])
    if words[0] == "mkdir":
        os.mkdir(path)
    elif words[0] == "rm":
        os.remove(path)
    elif words[0] == "crc":
        repair(path)
    elif words[0] == "cut":
        os.truncate(path, int(words[2]))
    elif words[0] == "poke":
        with open(path, "r+b") as f:
            f.seek(int(words[2], 0))
            f.write(bytes.fromhex("".join(words[3:])))
    else:
        raise ValueError(words)


def write_file(folder, rest, body):
    name, *how = rest.split()
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if how == ["escaped"]:
        data = "".join(body).encode("latin-1").decode("unicode_escape").encode("latin-1")
    else:
        data = "".join(b + "\n" for b in body).encode()
    open(path, "wb").write(data)


def hunks(body):
    part = []
    for line in body:
        if line == "@@":
            yield part
            part = []
        else:
            part.append(line)
    yield part


def run(case):
    """(verdict line, lines of output) as they are now."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(FOLDER, "base"), folder, dirs_exist_ok=True)
        commands = [s for s in case.steps if s[0] == "$"]
        for word, rest, body in case.steps + ([] if commands else [("$", DEFAULT, [])]):
            if word == "---":
                write_file(folder, rest, body)
            elif word == "+++":
                for hunk in hunks(body):
                    edit(os.path.join(folder, rest), hunk)
            elif word == "!":
                change(folder, rest.split())
            else:
                done = tell(folder, rest)
                last = not commands or rest is commands[-1][1]
                assert last or done.returncode == 0, f"{rest}: {done.stderr}"
    text = done.stderr + (done.stdout if case.wants_stdout() else b"")
    lines = text.decode("utf-8", "replace").rstrip("\n").split("\n")
    verdict = " ".join([str(done.returncode)] + case.verdict.split()[1:])
    return verdict, [line for line in lines if line] if lines != [""] else []


def tell(folder, words):
    env = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", TUNEWIRE_TARGET="tcp://127.0.0.1:1")
    return subprocess.run([TOOL] + words.split(), cwd=folder, capture_output=True, env=env, timeout=60,
                          stdin=subprocess.DEVNULL)


def files():
    return sorted(os.path.join(FOLDER, f) for f in os.listdir(FOLDER) if f.endswith(".txt"))


def difference(case):
    """Lines of a difference, none when the answer is the one wanted."""
    verdict, got = run(case)
    want = [f"=== {case.verdict}"] + [w for w in case.want if w]
    return list(difflib.unified_diff(want, [f"=== {verdict}"] + got, "wanted", "answered", lineterm="", n=1))


def accept(path, chosen):
    intro, cases = read_cases(path)
    out = intro
    for case in cases:
        verdict, got = run(case) if chosen(case) else (case.verdict, [w for w in case.want if w])
        out += [f"### {case.claim}"] + case.head + [f"=== {verdict}"] + got + [""]
    open(path, "w", encoding="utf-8").write("\n".join(out).rstrip("\n") + "\n")


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--accept", action="store_true", help="write what is answered now")
    args.add_argument("word", nargs="?", default="", help="part of a file's name or of a claim")
    opts = args.parse_args()
    bad = count = 0
    for path in files():
        if opts.accept:
            accept(path, lambda c: opts.word in c.name)
        for case in read_cases(path)[1]:
            if opts.word in case.name:
                count += 1
                lines = difference(case)
                bad += bool(lines)
                if lines:
                    print(f"{case.source}:{case.line}: {case.claim}", *lines, sep="\n")
    print(f"{count} cases, {bad} differ")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
