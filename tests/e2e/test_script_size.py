"""The script machine on a Cortex-M4: its text and what its instructions cost stay where docs/SCRIPT_ISA.md has them."""
import re
import shutil
import subprocess

import pytest

TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")


@pytest.fixture(scope="module", autouse=True)
def tools():
    missing = [t for t in TOOLS if shutil.which(t) is None]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")


def test_the_machine_takes_4_kilobytes_its_arithmetic_3_and_a_half_and_its_short_way_2_and_a_half():
    subprocess.run(["mkdir", "-p", "build/min_device"], check=True)
    done = subprocess.run(["python3", "firmware/min_device/size.py", "--scripts"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {name: int(n) for name, n in re.findall(r"^size (\S+) text=(\d+)$", done.stdout, re.M)}
    assert 0 < found["vm-m4"] <= 4096 and 0 < found["vm-values-m4"] <= 3584
    assert 0 < found["vm-short-m4"] <= 2560
    assert re.search(r"^size vm-m4 \(without the short way\) .*short=0 ", done.stdout, re.M)


def test_no_instruction_costs_more_than_the_table_says():
    subprocess.run(["make", "PROFILE=host", "build/script_cost/cost.elf"], check=True, capture_output=True)
    done = subprocess.run(["python3", "firmware/script_cost/cost.py", "run", "build/script_cost/cost.elf"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"^cost script-m4 \S+ worst=\d+", done.stdout, re.M)) == 4
