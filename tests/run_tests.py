"""run_tests.py [--profile debug] [--only TEXT]: run every test program and say what passed, failed, was skipped.

CMocka programs of build/<profile>/tests, fuzz corpora replayed by build/<profile>/replay, programs of
build/tsan/tests, then the end-to-end tests (pytest) against the optimised build. A skipped test says why.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

COLOUR = sys.stdout.isatty()
LIMIT_S = 300


def paint(text, code):
    return f"\x1b[{code}m{text}\x1b[0m" if COLOUR else text


class Totals:
    passed = failed = skipped = 0
    reasons = []


def run(command, env=None, limit=LIMIT_S):
    start = time.monotonic()
    try:
        p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                           timeout=limit, env=env)
        out, code = p.stdout.decode("utf-8", "replace"), p.returncode
    except subprocess.TimeoutExpired as e:
        out, code = (e.stdout or b"").decode("utf-8", "replace") + f"\nno end within {limit} s", -1
    return out, code, time.monotonic() - start


def line(name, passed, failed, skipped, seconds):
    word = paint("FAIL", 31) if failed else paint("ok", 32)
    print(f"  {word:4} {name:34} {passed:4} passed {failed:2} failed {skipped:2} skipped {seconds:6.1f} s", flush=True)
    Totals.passed += passed
    Totals.failed += failed
    Totals.skipped += skipped


def cmocka(path):
    out, code, seconds = run([path])
    passed = len(re.findall(r"^\[ +OK \]", out, re.M))
    failed = len(set(re.findall(r"^\[ +FAILED +\] (?!\d+ test)(?:\S+: )?(\S+)", out, re.M)))
    skipped = len(set(re.findall(r"^\[ +SKIPPED +\] (?!\d+ test)(?:\S+: )?(\S+)", out, re.M)))
    if code != 0 and failed == 0:
        failed = 1
    if code == 0 and passed + skipped == 0:
        failed, out = 1, out + "\nthe program ran no test"
    line(path.split("/", 1)[1], passed, failed, skipped, seconds)
    Totals.reasons += [f"{os.path.basename(path)}: {r}" for r in re.findall(r"^skipped: (.*)", out, re.M)]
    if failed:
        print(out[-6000:])


def replay(path):
    corpus = f"tests/fuzz/corpus/{os.path.basename(path)[5:]}"
    # the bounds of `make fuzz`: an input that wants more memory is a finding
    out, code, seconds = run([path, corpus], dict(os.environ, ASAN_OPTIONS="max_allocation_size_mb=256:hard_rss_limit_mb=1024"
                                                  ":allocator_may_return_null=0"))
    n = re.search(r"replayed (\d+)", out)
    line(path.split("/", 1)[1], int(n[1]) if n and code == 0 else 0, int(code != 0), 0, seconds)
    if code:
        print(out[-4000:])


def pytest(only):
    os.makedirs("build", exist_ok=True)
    report = "build/e2e.xml"
    if os.path.exists(report):
        os.remove(report)
    env = dict(os.environ, PYTHONPATH="host_tools/python:tests/e2e", PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, "-m", "pytest", "-q", "-x" if os.environ.get("FAIL_FAST") else "-q", "-p",
               "no:cacheprovider", f"--junitxml={report}", "tests/python", "tests/e2e"]
    if only:
        command += ["-k", only]
    out, code, seconds = run(command, env, 900)
    passed = failed = skipped = 0
    if os.path.exists(report):
        for case in ET.parse(report).getroot().iter("testcase"):
            kinds = {e.tag for e in case}
            if kinds & {"failure", "error"}:
                failed += 1
            elif "skipped" in kinds:
                skipped += 1
                Totals.reasons.append(f"{case.get('name')}: {case.find('skipped').get('message')}")
            else:
                passed += 1
    if code not in (0, 5) and failed == 0:
        failed = 1
    line("python and e2e (pytest)", passed, failed, skipped, seconds)
    if failed:
        print(out[-8000:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="debug")
    parser.add_argument("--only", default="", help="run programs whose name contains this")
    parser.add_argument("--no-e2e", action="store_true")
    a = parser.parse_args()
    for path in sorted(glob.glob(f"build/{a.profile}/tests/test_*") + glob.glob("build/tsan/tests/test_*")):
        if a.only in path and os.access(path, os.X_OK) and not path.endswith(".d"):
            cmocka(path)
    for path in sorted(glob.glob(f"build/{a.profile}/replay/fuzz_*")):
        if a.only in path:
            replay(path)
    if not a.no_e2e:
        pytest(a.only)
    for reason in Totals.reasons:
        print(f"  skipped: {reason}")
    print(f"{Totals.passed} passed, {Totals.failed} failed, {Totals.skipped} skipped")
    return 1 if Totals.failed or Totals.passed == 0 else 0


sys.exit(main())
