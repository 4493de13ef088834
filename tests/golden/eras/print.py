#!/usr/bin/python3
"""print.py TUNEWIRE: make X.out and X.says of every X.in beside this file anew."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

for path in sorted(HERE.glob("*.in")):
    done = subprocess.run([sys.argv[1], "graph", "fmt", path.name], cwd=HERE, capture_output=True, text=True)
    path.with_suffix(".out").write_text(done.stdout)
    lines = [line for line in done.stderr.splitlines() if re.match(re.escape(path.name) + r"[:]", line)]
    path.with_suffix(".says").write_text("".join(line[len(path.name) + 1:] + "\n" for line in lines))
