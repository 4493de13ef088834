"""The smallest device: what it takes, and that it computes what a host computes."""
import re
import shutil
import subprocess

import pytest

TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")


@pytest.fixture(scope="module")
def built():
    missing = [t for t in TOOLS if shutil.which(t) is None]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")
    subprocess.run(["make", "-j2", "PROFILE=host", "min-device"], check=True, capture_output=True)


def test_filter_and_detector_run_in_a_kilobyte_of_ram_and_12_kilobytes_of_text(built):
    done = subprocess.run(["python3", "firmware/min_device/size.py", "--brief"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr  # also: two runs alike, the host's checksum
    found = re.search(r"^size min-device text=(\d+) ram=(\d+) stack=(\d+)$", done.stdout, re.M)
    text, ram, stack = map(int, found.groups())
    assert text <= 12288 and 0 < stack < ram <= 1024


def test_no_image_one_bit_away_makes_the_small_profile_fault(built):
    done = subprocess.run(["build/min_device/min_flips"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    accepted, refused = map(int, re.search(r"accepted=(\d+) refused=(\d+)", done.stdout).groups())
    assert accepted > 0 and refused > 1000
