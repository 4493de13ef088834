"""The Python package alone: no device, only bytes and scripted peers."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
if not os.environ.get("TUNEWIRE_INSTALLED"):  # else the package that pip installed is meant
    sys.path.insert(0, os.path.join(HERE, "..", "..", "host_tools", "python"))


@pytest.fixture(autouse=True)
def needs_descriptor():
    from peer import DESCRIPTOR
    if not os.path.exists(DESCRIPTOR):
        pytest.skip("build/gen/tunewire.desc is not there: build the server first")
