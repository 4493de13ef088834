#!/usr/bin/python3
"""gen_docs.py [--check]: fill the tables of docs/*.md from the .def files, in place.

A table stands between <!-- BEGIN name --> and <!-- END name -->; GENERATORS says how each name is made.
--check changes nothing, names every table that differs and exits 1. methods.def must agree with
the services of tunewire.proto.
"""
import hashlib
import hmac
import pathlib
import re
import struct
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


def method_rows_of_schema():
    """The same columns as methods.def, read from the services of tunewire.proto: ids are places."""
    proto = re.sub(r"//.*", "", (ROOT / "protocol/tunewire.proto").read_text())
    for s, (service, body) in enumerate(re.findall(r"^service (\w+) \{(.*?)^\}", proto, re.M | re.S), 1):
        rpcs = re.findall(r"rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\);", body)
        for m, (method, request, stream, response) in enumerate(rpcs, 1):
            yield [f"0x{s << 8 | m:04X}", service, method, request, response, "1" if stream else "0"]


def differing_methods():
    ours = [r[:6] for r in rows("protocol/methods.def", "TW_METHOD")]
    theirs = list(method_rows_of_schema())
    for r in sorted(set(map(tuple, ours)) ^ set(map(tuple, theirs))):
        where = "methods.def" if list(r) in ours else "tunewire.proto"
        yield f"protocol/{where}: {r[0]} {r[1]}.{r[2]} ({r[3]}) -> {r[4]} stands only here"


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


def auth_example():
    """The proofs of a fixed key and fixed nonces, worked out by Python's hmac."""
    def mac(key, *parts):
        return hmac.new(key, b"".join(parts), hashlib.sha256).digest()
    key, ns, nc, role = b"a key of the lab", bytes(range(0x20, 0x30)), bytes(range(0x40, 0x50)), b"\x01"
    call_key = mac(key, b"call", ns, nc, role)
    request = bytes.fromhex("080110051803201b2a040000803f")
    call = struct.pack("<5I", 7, 0x0301, 0, 0, 0)
    lines = [("key", key), ("N_s", ns), ("N_c", nc), ("r", role),
             ("client proof", mac(key, b"auth", ns, nc, role)),
             ("server proof", mac(key, b"serv", nc, ns, role)), ("call key", call_key),
             ("mac of row \"set\"", mac(call_key, call, request)[:16])]
    return "```\n" + "".join(f"{name:<17}{data.hex(' ')}\n" for name, data in lines) + "```"


def records():
    return table(["kind", "name", "payload at least", "payload"], rows("engine/base/record_kinds.def", "TW_RECORD"))


def debug_stops():
    def line(r):
        return [r[0], "yes" if r[2] == "1" else "no", r[3]]
    return table(["why", "holds", "meaning"], map(line, rows("engine/graph/debug_stops.def", "TW_DEBUG_STOP")))


GENERATORS = {"auth-example": auth_example, "methods": methods, "errors": errors, "statuses": statuses,
              "field-sizes": field_sizes, "debug-stops": debug_stops, "records": records}


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
    wrong = list(differing_methods())
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text()
        new = fill(text, path.relative_to(ROOT), wrong)
        if new != text and not check:
            path.write_text(new)
    if check:
        print("\n".join(wrong), end="\n" if wrong else "")
        return 1 if wrong else 0
    left = [w for w in wrong if "run tools/gen_docs.py" not in w]  # what filling in cannot cure
    print("\n".join(left), end="\n" if left else "")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
