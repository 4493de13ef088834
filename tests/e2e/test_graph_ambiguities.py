"""docs/GRAPH_AMBIGUITIES.md: every question has an answer and a proof, and every test that it names exists."""
import glob
import os
import re

from conftest import ROOT

AMBIGUITIES = "docs/GRAPH_AMBIGUITIES.md"


def rows():
    with open(os.path.join(ROOT, AMBIGUITIES)) as f:
        for line in f:
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if line.startswith("|") and re.match(r"S[01]:L|public|none", cells[0]):
                yield cells


def every_test_of_the_tree():
    names = set()
    for path in glob.glob(os.path.join(ROOT, "tests", "**", "*.[cp]*"), recursive=True):
        if path.endswith((".c", ".py")):
            with open(path) as f:
                names.update(re.findall(r"^(?:static void|def) (\w+)\((?:void \*\*|\w*\)?)", f.read(), re.M))
    return names


def test_every_proof_named_in_the_table_of_ambiguities_exists():
    known, count = every_test_of_the_tree(), 0
    for cells in rows():
        assert len(cells) == 4, cells
        where, question, answer, proof = cells
        names = re.findall(r"`(\w+)`", proof)
        assert question and answer, cells
        assert names or re.match(r"arrives with |refused: |a limit of the format", proof), f"{where}: no proof: {proof}"
        missing = [n for n in names if n not in known]
        assert not missing, f"{where}: no test {missing}"
        count += 1
    assert count >= 60
