"""tunewire graph fmt as it is typed: files, standard input, in place, check; and what it leaves alone."""
import os
import pathlib
import stat
import subprocess

import pytest
from conftest import ROOT, TOOL

UGLY = "format 007 ; a\nformat_raw_data 17 here\n"
PRETTY = "format 7  ; a\n    format_raw_data S16  ; here\n"
WRONG = "format 0\nformat_nbchan 99\n"


def fmt(*args, stdin=None, cwd=None):
    return subprocess.run([TOOL, "graph", "fmt", *map(str, args)], input=stdin, capture_output=True, text=True,
                          timeout=20, cwd=cwd)


@pytest.fixture
def ugly(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text(UGLY)
    return path


def test_prints_the_canonical_form(ugly):
    done = fmt(ugly)
    assert (done.returncode, done.stdout, done.stderr) == (0, PRETTY, "")
    assert ugly.read_text() == UGLY


def test_reads_standard_input():
    done = fmt("-", stdin=UGLY)
    assert (done.returncode, done.stdout) == (0, PRETTY)


def test_a_wrong_text_gives_its_place_and_no_output(tmp_path):
    path = tmp_path / "wrong.txt"
    path.write_text(WRONG)
    done = fmt(path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{path}:2:15: error: format_nbchan is 99, allowed 1..32" in done.stderr
    assert "^~" in done.stderr


def test_writes_in_place_and_keeps_rights(ugly):
    ugly.chmod(0o640)
    assert fmt("--write", ugly).returncode == 0
    assert ugly.read_text() == PRETTY
    assert stat.S_IMODE(ugly.stat().st_mode) == 0o640
    assert sorted(os.listdir(ugly.parent)) == ["g.txt"]


def test_a_canonical_file_is_not_touched(ugly):
    ugly.write_text(PRETTY)
    os.utime(ugly, (1, 1))
    assert fmt("-w", ugly).returncode == 0
    assert ugly.stat().st_mtime == 1


def test_a_wrong_file_is_not_touched(tmp_path, ugly):
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(WRONG)
    assert fmt("-w", wrong, ugly).returncode == 1
    assert wrong.read_text() == WRONG
    assert ugly.read_text() == PRETTY


def test_check_lists_what_is_not_canonical(tmp_path, ugly):
    pretty = tmp_path / "pretty.txt"
    pretty.write_text(PRETTY)
    done = fmt("--check", ugly, pretty)
    assert (done.returncode, done.stdout) == (1, f"{ugly}\n")
    assert fmt("--check", pretty).returncode == 0
    assert ugly.read_text() == UGLY


def test_a_listing_is_told_to_be_one(tmp_path):
    path = tmp_path / "g_bin.txt"
    path.write_text("0x00000001, // words\n0x00000000,\n")
    done = fmt(path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "decode-legacy" in done.stderr


def test_a_missing_file_is_named(tmp_path):
    done = fmt(tmp_path / "none.txt")
    assert done.returncode == 4 and "none.txt" in done.stderr


def test_every_text_of_the_product_is_printed_the_same_again():
    texts = [p for folder in ("examples", "engine/node/manifests") for p in pathlib.Path(ROOT, folder).rglob("*.txt")
             if "script" not in p.name or "manifest" in p.name]
    assert len(texts) > 20
    for path in texts:
        once = fmt(path)
        assert once.returncode == 0, (path, once.stderr)
        again = fmt("-", stdin=once.stdout)
        assert (again.returncode, again.stdout) == (0, once.stdout), path
