#!/usr/bin/python3
"""gen_docs.py [--check]: fill the tables of docs/*.md from the .def files, in place.

A table stands between <!-- BEGIN name --> and <!-- END name -->; GENERATORS says how each name is made.
--check changes nothing, names every table that differs and exits 1.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def rows(path, macro):
    """Arguments of every `macro(...)` row of a .def file; comments are dropped, strings unquoted."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.S)
    for args in re.findall(rf"^{macro}\((.*)\)\s*$", text, re.M):
        yield [a.strip().strip('"') for a in re.findall(r'"[^"]*"|[^,]+', args)]


def table(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    out += ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join(out)


def methods():
    def line(r):
        number, service, method, request, response, stream, role, txn = r
        return [f"`{number}`", f"{service}.{method}", request, ("stream of " if stream == "1" else "") + response,
                role.lower(), "yes" if txn == "1" else ""]
    return table(["id", "method", "request", "response", "least role", "may be staged"],
                 map(line, rows("protocol/methods.def", "TW_METHOD")))


def errors():
    return table(["detail", "name", "status", "text"], rows("engine/base/errors.def", "TW_ERR"))


def statuses():
    return table(["code", "name"], rows("engine/base/status.def", "TW_STATUS"))


def field_sizes():
    """Bounds of strings, bytes and repeated fields; a string's terminating zero is not on the wire."""
    proto = (ROOT / "protocol/tunewire.proto").read_text()
    strings = set(re.findall(r"string (\w+) =", proto))
    lines = []
    for line in (ROOT / "protocol/tunewire.options").read_text().splitlines():
        m = re.match(r"([\w.*]+)\s+(?:max_(size|count):(\d+)|type:FT_CALLBACK)", line)
        if not m or m.group(1) == "tunewire.v1.Status.text":
            continue
        name = m.group(1).replace("tunewire.v1.", "")
        if m.group(2) is None:
            lines.append([f"`{name}`", "what fits the message"])
        elif m.group(2) == "count":
            lines.append([f"`{name}`", f"{m.group(3)} items"])
        else:
            text = name.rsplit(".", 1)[-1] in strings
            lines.append([f"`{name}`", f"{int(m.group(3)) - text} bytes" + (" of UTF-8" if text else "")])
    return table(["field", "at most"], lines)


GENERATORS = {"methods": methods, "errors": errors, "statuses": statuses, "field-sizes": field_sizes}


def fill(text, path, wrong):
    def one(m):
        name = m.group(1)
        if name not in GENERATORS:
            wrong.append(f"{path}: no generator for table \"{name}\"")
            return m.group(0)
        made = f"<!-- BEGIN {name} -->\n{GENERATORS[name]()}\n<!-- END {name} -->"
        if made != m.group(0):
            wrong.append(f"{path}: table \"{name}\" differs from its .def file; run tools/gen_docs.py")
        return made
    return re.sub(r"<!-- BEGIN ([\w-]+) -->\n.*?<!-- END \1 -->", one, text, flags=re.S)


def main():
    check = "--check" in sys.argv[1:]
    wrong = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text()
        new = fill(text, path.relative_to(ROOT), wrong)
        if new != text and not check:
            path.write_text(new)
    if check:
        print("\n".join(wrong), end="\n" if wrong else "")
        return 1 if wrong else 0
    unknown = [w for w in wrong if "no generator" in w]
    print("\n".join(unknown), end="\n" if unknown else "")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
