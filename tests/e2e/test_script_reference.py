"""Script machine against the reference interpreter of tests/oracle/twv16.py; `make soak-script` compares 1e6 programs."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCH = os.environ.get("TW_SCRIPT_BATCH", os.path.join(ROOT, "build", "host", "script_batch"))
SOAK = os.environ.get("TW_SCRIPT_SOAK", os.path.join(ROOT, "build", "debug", "script_soak"))
DIFF = os.path.join(ROOT, "tests", "oracle", "script_diff.py")


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
