#!/usr/bin/python3
"""gen_docs_nodes.py [--check]: fill the table of docs/NODES.md from nodes.def and the node manifests, in place.

Tables of parameters marked <!-- params TYPE --> get index, name, type, range and default from the program itself
(`tunewire __params`, when it is built); their last column is by hand. test_node_docs holds the two together.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
DOC = os.path.join(ROOT, "docs", "NODES.md")
TOOL = os.path.join(ROOT, "build", "host", "tunewire")
TERMS = (("node_mem_nbchan", "channels"), ("node_mem_sampling_rate", "Hz"), ("node_mem_frame_size", "frame bytes"))


def types():
    """(id, name, installed) of every row of nodes.def, by id."""
    text = open(os.path.join(ROOT, "engine", "node", "nodes.def")).read()
    found = re.findall(r"^TW_NODE(_LATER)?\((\d+), (\w+)\)", text, re.M)
    return sorted((int(number), name, later == "") for later, number, name in found)


def manifest(name):
    """The first sentence of the file, and its tags as (tag, words) in order."""
    path = os.path.join(ROOT, "engine", "node", "manifests", f"node_manifest_{name}.txt")
    lines = open(path).read().splitlines()
    tags = [line.split(";")[0].split() for line in lines]
    comment = " ".join(line.lstrip("; ") for line in lines[:next(i for i, s in enumerate(lines) if s[:1] != ";")])
    return comment.split(". ")[0].rstrip(".") + ".", [(t[0], t[1:]) for t in tags if t and t[0].startswith("node_")]


def number_of_arcs(tags):
    most = dict(tags).get("node_nb_arcs", ["1", "1"])
    least = dict(tags).get("node_min_arcs", most)
    return [a if a == b else f"{a}..{b}" for a, b in zip(least, most)]


def memory(tags):
    blocks = []
    for tag, words in tags:
        if tag == "node_mem":
            blocks.append([])
        elif tag == "node_mem_alloc" and words[0] != "0":
            blocks[-1].append(words[0])
        else:
            blocks[-1:] and blocks[-1].extend(f"{words[0]} x {what}" for t, what in TERMS if t == tag)
    return "; ".join(" + ".join(b) for b in blocks)


def table():
    lines = ["| id | type | in | out | memory [bytes], block by block | installed | |", "|---|---|---|---|---|---|---|"]
    for number, name, installed in types():
        doc, tags = manifest(name)
        rx, tx = number_of_arcs(tags)
        lines.append(f"| {number} | `arm_stream_{name}` | {rx} | {tx} | {memory(tags)} | {'yes' if installed else ''} | {doc} |")
    return "\n".join(lines)


def parameters():
    """{type: [[index, name, type, range, default]]}; empty when the program is not built."""
    if not os.path.exists(TOOL):
        return {}
    rows = {}
    for line in subprocess.run([TOOL, "__params"], check=True, capture_output=True, text=True).stdout.splitlines():
        name, *cells = line.split("|")
        rows.setdefault(name.replace("arm_stream_", "", 1), []).append(cells)
    return rows


def table_of_parameters(name, old, rows):
    if name not in rows:
        return old
    by_hand = {}
    for line in old.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split(" |")]
        by_hand[cells[0].strip()] = cells[-1].strip()
    lines = ["| index | name | type | range | default | |", "|---|---|---|---|---|---|"]
    for index, param, kind, limits, default in rows[name]:
        lines.append(f"| {index} | `{param}` | {kind} | {limits} | {default} | {by_hand.get(index, '')} |")
    return "\n".join(lines) + "\n"


def main():
    old = open(DOC).read()
    rows = {} if "--check" in sys.argv[1:] else parameters()  # then a unit test looks, with the program of its own build
    new = re.sub(r"(<!-- table nodes -->\n).*?(<!-- end -->)", lambda m: m[1] + table() + "\n" + m[2], old, flags=re.S)
    new = re.sub(r"(<!-- params (\w+) -->\n)(.*?)(<!-- end -->)",
                 lambda m: m[1] + table_of_parameters(m[2], m[3], rows) + m[4], new, flags=re.S)
    if "--check" in sys.argv[1:]:
        sys.exit(f"{DOC} is out of date: run tools/gen_docs_nodes.py" if new != old else 0)
    open(DOC, "w").write(new)


main()
