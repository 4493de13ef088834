"""check_layers.py: every #include "..." of the tree against tests/layers.txt; prints what breaks a layer.

Also: file names are unique, *_priv.h stays in its folder and those below, includes are written from the root, and no
source line is longer than 120 columns.
"""
import re
import subprocess
import sys

GENERATED = {"tunewire.pb.h": "build/gen/tunewire.pb.h"}


def rules():
    out = {}
    for line in open("tests/layers.txt", encoding="utf-8"):
        line = line.split("#")[0].strip()
        if line:
            folder, _, allowed = line.partition(":")
            out[folder] = allowed.split()
    return out


def layer_of(path, table):
    best = ""
    for folder in table:
        if path.startswith(folder + "/") and len(folder) > len(best):
            best = folder
    return best


def main():
    table = rules()
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.def"], capture_output=True,
                           text=True, check=True).stdout.split()
    errors, seen, includes = [], {}, 0
    for path in files:
        name = path.rsplit("/", 1)[-1]
        if name in seen:
            errors.append(f"{path}: a file of this name exists: {seen[name]}")
        seen[name] = path
        home = layer_of(path, table)
        if not home:
            errors.append(f"{path}: in no layer of tests/layers.txt")
            continue
        try:
            text = open(path, encoding="utf-8").read()
        except FileNotFoundError:
            continue
        for n, line in enumerate(text.splitlines(), 1):
            if len(line) > 120:
                errors.append(f"{path}:{n}: {len(line)} columns, at most 120")
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not found:
                continue
            includes += 1
            target = GENERATED.get(found[1], found[1])
            if "/" not in target:
                errors.append(f"{path}:{n}: write the include from the root: {target}")
                continue
            folder = target.rsplit("/", 1)[0]
            if target.endswith("_priv.h") and not path.startswith(folder + "/") and home != "tests":
                errors.append(f"{path}:{n}: {target} is private to {folder}")
            if "*" in table[home] or layer_of(target, table) == home:
                continue
            if not any(target == a or target.startswith(a + "/") for a in table[home]):
                errors.append(f"{path}:{n}: {home} may not include {target}")
    print("\n".join(errors))
    print(f"layers: {len(files)} files, {includes} includes, {len(errors)} errors")
    return 1 if errors else 0


sys.exit(main())
