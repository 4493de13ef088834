"""Every bad input of tests/golden/errors is refused with the words, at the place and with the exit code written there."""
import collections

import error_cases
import pytest

CASES = [case for path in error_cases.files() for case in error_cases.read_cases(path)[1]]


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_the_answer_is_the_one_read_over_by_a_person(case):
    lines = error_cases.difference(case)
    assert not lines, "\n".join([f"{case.source}:{case.line}"] + lines)


def test_each_case_is_another_mistake():
    same = collections.Counter("\n".join(c.head) for c in CASES)
    assert [text for text, n in same.items() if n > 1] == []
    claims = collections.Counter(c.claim for c in CASES)
    assert [claim for claim, n in claims.items() if n > 1] == []


def test_no_case_is_answered_by_a_crash():
    assert [c.name for c in CASES if c.verdict.startswith("-") or int(c.verdict.split()[0]) > 130] == []
