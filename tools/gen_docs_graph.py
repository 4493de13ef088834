"""gen_docs_graph.py [--check]: the tag tables of docs/GRAPH_LANGUAGE.md from the .def files.

A table stands between `<!-- table NAME -->` and `<!-- end -->`. With --check nothing is written and
the exit status says whether the page is up to date.
"""
import re
import sys

DOC = "docs/GRAPH_LANGUAGE.md"
GRAPH = "host_tools/graphc/graph_tags.def"
MANIFEST = "engine/board/manifest_tags.def"
BASE = "engine/base/"
WHERE = {"TOP": "graph, sub-graph", "MAIN": "graph", "ANY": "anywhere", "FORMAT": "format", "IO": "stream_io", "NODE": "node",
         "CODE": "node, script", "ARC": "arc"}


def rows(path):
    """(macro, arguments) of each row; strings lose their quotes."""
    for m in re.finditer(r"^(TW_\w+)\((.*(?:\n    .*)?)\)$", open(path).read(), re.M):
        args = re.findall(r'"((?:[^"\\]|\\.)*)"|([^,\s][^,]*)', m.group(2))
        yield m.group(1), [a if a or not b else b.strip() for a, b in args]


def code(text):
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def cell(text):
    return text.replace("|", "\\|").replace('\\"', '"')


def limits(lo, hi):
    hi = "2^32-1" if hi.startswith("4294967295") else hi
    return f"{lo}..{hi}"


def table(head, lines):
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1)] + lines)


def graph():
    out = []
    for macro, a in rows(GRAPH):
        if macro == "TW_GRAPH_INT":
            tag, where, _, lo, hi, dflt, text = a
            out.append((tag, WHERE[where], limits(lo, hi), dflt, text))
        elif macro == "TW_GRAPH_CALL":
            tag, where, _, args, dflt, text = a
            out.append((tag, WHERE[where], args, dflt, text))
        elif macro == "TW_GRAPH_ALIAS":
            alias, tag, text = a
            out.append((alias, "", "", "", f"{text} of {code(tag)}"))
    return table("| tag | inside | value | default | meaning |",
                 [f"| {code(t)} | {w} | {cell(v)} | {cell(d)} | {cell(x)} |" for t, w, v, d, x in out])


def manifest(kind):
    out = []
    for macro, a in rows(MANIFEST):
        if macro == f"TW_{kind}_FIELD":
            tag, _, lo, hi, dflt, text = a
            out.append((tag, limits(lo, hi), dflt, text))
        elif macro == f"TW_{kind}_CALL":
            tag, _, args, dflt, text = a
            out.append((tag, args, dflt, text))
        elif macro in (f"TW_{kind}_SET", f"TW_{kind}_PROSE"):
            tag, _, lo, hi, unit, dflt, text = a
            out.append((tag, "options", dflt, text + (f" [{unit}]" if unit else "")))
        elif macro == f"TW_{kind}_SWITCH":
            tag, text = a
            out.append((tag, "[0|1]", "-", text))
        elif macro == f"TW_{kind}_TEXT":
            tag, args, dflt, text = a
            out.append((tag, args, dflt, text))
        elif macro == f"TW_{kind}_ALIAS":
            alias, tag = a
            out.append((alias, "", "", f"other spelling of {code(tag)}"))
    return table("| tag | value | default | meaning |",
                 [f"| {code(t)} | {cell(v)} | {cell(d)} | {cell(x)} |" for t, v, d, x in out])


def names_of(path, alias):
    """What else is written for a name or a code: code or name to spellings."""
    out = {}
    for macro, a in rows(path):
        if macro == alias:
            out.setdefault(a[1], []).append(a[0])
    return out


def raw_types():
    other = names_of(BASE + "raw_types.def", "TW_RAW_ALIAS")
    lines = []
    for macro, a in rows(BASE + "raw_types.def"):
        if macro == "TW_RAW":
            code_, name, bits, computed = a
            also = ", ".join(code(n) for n in other.get(name, []))
            lines.append(f"| {code_} | `{name}` | {bits if bits != '0' else ''} | {'yes' if computed == '1' else ''} | {also} |")
    return table("| code | name | bits | computed with | also |", lines)


def factor(num, den, offset):
    text = num if den == "1" else f"{num}/{den}"
    return text + ("" if offset == "0" else f", {int(offset):+d}")


def units():
    found = [a for macro, a in rows(BASE + "units.def") if macro == "TW_UNIT"]
    text_of = {a[0]: a[1] for a in found}
    lines = []
    for code_, text, name, primary, num, den, offset, kind in found:
        same = primary == code_
        note = {"LOG": "logarithm", "APPROX": "for a sine"}.get(kind, "")
        lines.append(f"| {code_} | {code(text)} | `{name}` | {'' if same else text_of[primary]} | "
                     f"{'' if same else factor(num, den, offset)} | {note} |")
    return table("| code | unit | name | primary | times | |", lines)


def domains():
    other = names_of(BASE + "domains.def", "TW_DOMAIN_ALIAS")
    lines = []
    for macro, a in rows(BASE + "domains.def"):
        if macro == "TW_DOMAIN":
            lines.append(f"| {a[0]} | `{a[1]}` | {', '.join(code(n) for n in other.get(a[0], []))} |")
    return table("| code | domain | also |", lines)


def channels():
    return table("| bit | name | loudspeaker |", [f"| {a[0]} | `{a[1]}` | {a[2]} |"
                                                 for macro, a in rows(BASE + "channels.def") if macro == "TW_CHANNEL"])


def main():
    old = open(DOC).read()
    new = old
    for name, text in (("graph", graph()), ("node", manifest("NODE")), ("io", manifest("IO")),
                       ("raw", raw_types()), ("units", units()), ("domains", domains()), ("channels", channels())):
        mark = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.S)
        if not mark.search(new):
            sys.exit(f"{DOC}: no <!-- table {name} -->")
        new = mark.sub(lambda m: m.group(1) + text + "\n" + m.group(2), new)
    if "--check" in sys.argv[1:]:
        sys.exit(f"{DOC} is out of date: run tools/gen_docs_graph.py" if new != old else 0)
    open(DOC, "w").write(new)


main()
