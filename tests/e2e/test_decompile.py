"""tunewire decompile as people use it: the text of an image found somewhere, and an image again."""
import hashlib
import json
import os
import subprocess

import pytest
from conftest import PLATFORM, ROOT, TOOL, chain_text

EXAMPLES = sorted(f for f in os.listdir(os.path.join(ROOT, "examples")) if f.startswith(("voice", "seed")))


def run(*words, cwd=None):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, cwd=cwd, timeout=60)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_image_becomes_text_and_the_same_image(compiled, tmp_path, name):
    image = compiled(f"examples/{name}")
    text, again = tmp_path / "again.txt", tmp_path / "again.twg"
    done = run("decompile", image, "--platform", PLATFORM, "-o", text)
    assert done.returncode == 0 and done.stdout == b"" and done.stderr == b"", done.stderr
    assert run("compile", text, "--platform", PLATFORM, "-o", again).returncode == 0
    assert again.read_bytes() == open(image, "rb").read()


def test_the_terminal_gets_the_text_and_json_holds_it(compiled):
    image = compiled("examples/voice_gate.txt")
    plain = run("decompile", image)
    assert b"graph_name  voice_gate\n" in plain.stdout
    assert json.loads(run("--json", "decompile", image).stdout)["text"].encode() == plain.stdout


def test_the_identity_is_of_the_text_that_says_so(compiled):
    image = open(compiled("examples/voice_gate.txt"), "rb").read()
    text = run("decompile", compiled("examples/voice_gate.txt"), "--identity", "--platform", PLATFORM).stdout
    assert hashlib.sha256(text).digest()[:4] == image[20:24]


def test_the_text_is_as_the_formatter_has_it(compiled, tmp_path):
    text = tmp_path / "g.txt"
    assert run("decompile", compiled("examples/voice_gate.txt"), "-o", text).returncode == 0
    assert run("graph", "fmt", "--check", text).returncode == 0


def test_plain_text_has_no_places_and_still_compiles(compiled, tmp_path):
    image = compiled(chain_text(5))
    text = tmp_path / "plain.txt"
    assert run("decompile", image, "--plain", "-o", text).returncode == 0
    assert "_at " not in text.read_text() and "memory_plan" not in text.read_text()
    assert run("compile", text, "--platform", PLATFORM).returncode == 0


@pytest.mark.parametrize("spoil, says", [
    (lambda b: b[:100], "size wrong"),
    (lambda b: b"GWT1" + b[4:], "not a TWG1 graph image"),
    (lambda b: b[:-1] + b"\xff", "payload checksum wrong"),
    (lambda b: b"", "not a TWG1 graph image"),
])
def test_what_is_no_image_is_refused_with_a_place(compiled, tmp_path, spoil, says):
    bad = tmp_path / "bad.twg"
    bad.write_bytes(spoil(open(compiled("examples/voice_gate.txt"), "rb").read()))
    done = run("decompile", bad)
    assert done.returncode == 4 and done.stdout == b""
    assert str(bad).encode() in done.stderr and says.encode() in done.stderr and b"byte 0" in done.stderr


def test_a_platform_that_cannot_be_read_is_named(compiled):
    done = run("decompile", compiled("examples/voice_gate.txt"), "--platform", "nowhere.txt")
    assert done.returncode == 4 and b"nowhere.txt" in done.stderr
