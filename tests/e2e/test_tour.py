"""The first hour: the tour runs to its end and can be stopped; what it and the documents print works as written."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import wave
import xml.etree.ElementTree as ET

import pytest
from conftest import PLATFORM, ROOT, TOOL, wait_for, write_wav

SPEECH = "/usr/share/sounds/alsa/Front_Center.wav"
NUMPY = subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode == 0
pytestmark = pytest.mark.skipif(not (os.path.exists(SPEECH) and NUMPY), reason="alsa-utils or python3-numpy is missing")


def start_tour(out, *args, cwd=ROOT, **env):
    command = [sys.executable, os.path.join(ROOT, "examples", "tour.py"), "--out", str(out), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd,
                            start_new_session=True, env=dict(os.environ, **env))


def group_is_gone(pid):
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return True
    return False


def samples(path):
    with wave.open(str(path)) as w:
        return memoryview(w.readframes(w.getnframes())).cast("h")


def test_the_tour_leaves_what_it_says(tmp_path):
    out = tmp_path / "my tour"
    p = start_tour(out, "--seconds", "0.5", LC_ALL="C", HOME="/dev/null/home")
    text = p.communicate(timeout=60)[0]
    assert p.returncode == 0, text
    assert "generation 1 -> 2" in text and re.search(r"all applied before block \d+", text)
    assert "capture 0: level at tick" in text and "device took it back: gain_db is 6 again" in text
    assert "back, running, generation 3" in text
    assert "amplifier.0.gain_db = -12.0412 dB" in text, "the edit of the graph is not heard"
    change = re.search(r"below 500 Hz ([-+.\d]+) dB, above 2000 Hz ([-+.\d]+) dB", text)
    assert 4 < float(change[1]) < 9 and float(change[2]) < -15, change[0]
    assert "\x1b" not in text
    played = samples(out / "output.wav")
    assert len(played) > 48000 and max(played) > 3000
    root = ET.parse(out / "tour.svg").getroot()
    points = [v for e in root.iter() for v in re.findall(r"[-.\d]+", e.get("points", ""))]
    assert len(points) > 4000 and all(0 <= float(v) <= 1000 for v in points)
    words = "".join(root.itertext())
    assert "transaction" in words and "edited graph" in words and "nan" not in words
    assert group_is_gone(p.pid)


@pytest.mark.parametrize("number,after", [(signal.SIGINT, 0.3), (signal.SIGINT, 1.2), (signal.SIGTERM, 1.2),
                                          (signal.SIGHUP, 1.2)])
def test_stopping_the_tour_leaves_no_process(tmp_path, number, after):
    p = start_tour(tmp_path, "--seconds", "5")
    time.sleep(after)
    if number == signal.SIGINT:
        os.killpg(p.pid, number)  # as a terminal does
    else:
        p.send_signal(number)
    text = p.communicate(timeout=15)[0]
    assert p.returncode != 0 and "Traceback" not in text, text
    assert wait_for(lambda: group_is_gone(p.pid), 3)
    start_over = start_tour(tmp_path, "--seconds", "5")  # the lock, the port and the files are free again
    assert wait_for(lambda: (tmp_path / "output.wav").stat().st_size > 10000, 5)
    os.killpg(start_over.pid, signal.SIGINT)
    start_over.communicate(timeout=15)


def test_a_reader_that_goes_ends_it_quietly(tmp_path):
    p = start_tour(tmp_path, "--seconds", "0.5")
    p.stdout.readline()
    p.stdout.close()
    assert p.wait(30) != 0
    assert wait_for(lambda: group_is_gone(p.pid), 3)


def test_two_tours_at_once(tmp_path):
    first, other = start_tour(tmp_path / "a", "--seconds", "1"), start_tour(tmp_path / "b", "--seconds", "1")
    time.sleep(0.7)
    same = start_tour(tmp_path / "a")
    text = same.communicate(timeout=10)[0]
    assert same.returncode == 1 and "another tour runs" in text
    for p in (first, other):
        text = p.communicate(timeout=60)[0]
        assert p.returncode == 0, text


@pytest.mark.parametrize("rate,says", [(44100, "44100"), (None, "too few")])
def test_a_recording_that_does_not_fit_is_refused_with_the_reason(tmp_path, rate, says):
    path = tmp_path / "mine.wav"
    if rate:
        write_wav(path, [0] * 4800, rate)
    else:
        path.write_text("hello")
    p = start_tour(tmp_path / "out", "--input", "mine.wav", cwd=tmp_path)
    text = p.communicate(timeout=15)[0]
    assert p.returncode != 0 and says in text and "Traceback" not in text, text


# ---- commands as printed -------------------------------------------------------------

@pytest.fixture
def clone(tmp_path):
    """A folder that looks like a built clone, where commands may leave files."""
    folder = tmp_path / "clone"
    (folder / "build").mkdir(parents=True)
    for name in ("examples", "engine", "host_tools", "docs"):
        os.symlink(os.path.join(ROOT, name), folder / name)
    os.symlink(os.path.join(ROOT, "build", "host"), folder / "build" / "host")
    return folder


def sh(command, clone, uri, limit=15):
    env = dict(os.environ, TUNEWIRE_TARGET=uri, PATH=f"{os.path.dirname(TOOL)}:{os.environ['PATH']}")
    if "arc scope" in command:  # it goes on until Ctrl-C, or for longer than a test should
        command = re.sub(r" --seconds \d+| +#.*", "", command) + " --seconds 0.3"
    return subprocess.run(["bash", "-c", command], cwd=clone, env=env, capture_output=True, text=True, timeout=limit)


def run_all(commands, clone):
    """Commands in order; a tunewired among them is started (on a free port) and is what the others talk to."""
    device, uri, ran = None, "tcp://127.0.0.1:1", 0
    try:
        for command in commands:
            words = shlex.split(command, comments=True)
            if words[-1] == "&":
                words.pop()
            if os.path.basename(words[0]) == "tunewired":
                program = os.path.join(ROOT, "build", "host", "tunewired")
                device = subprocess.Popen([program, *words[1:], "--listen", "127.0.0.1:0"], cwd=clone,
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                uri = device.stdout.readline().split()[-1]
            else:
                command = command.replace("examples/tune.py", f"examples/tune.py {uri}")
                done = sh(command, clone, uri)
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            ran += 1
    finally:
        if device:
            device.terminate()
            device.wait(10)
    return ran


def blocks_of(path, language):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return re.findall(rf"^```{language}\n(.*?)^```", f.read(), re.M | re.S)


def test_what_the_tour_says_to_try_next_works(tmp_path, clone):
    (clone / "build" / "run").mkdir()
    p = start_tour(clone / "build" / "run", "--seconds", "0.2")
    text = p.communicate(timeout=60)[0]
    assert p.returncode == 0, text
    text = text.replace(str(clone) + "/", "")
    after = text.split("Try next")[1].splitlines()[1:]
    commands = [line for line in after if line.startswith(("build/", "PYTHONPATH"))]
    assert len(commands) == 7
    assert run_all(commands, clone) == 7


def test_the_readme_is_true_as_written(clone):
    commands = [line for block in blocks_of("README.md", "sh") for line in block.splitlines() if line.strip()]
    targets = [line.split()[1] for line in commands if line.startswith("make ")]
    with open(os.path.join(ROOT, "Makefile")) as f, open(os.path.join(ROOT, "tests", "module.mk")) as g:
        rules = f.read() + g.read()
    assert targets and all(re.search(rf"^{t}:", rules, re.M) for t in targets)
    python = "\n".join(blocks_of("README.md", "python"))
    (clone / "readme.py").write_text(python.replace('"tcp://127.0.0.1:5600"', "__import__('sys').argv[1]"))
    assert "argv" not in python and "argv" in (clone / "readme.py").read_text()
    run_python = f"PYTHONPATH=host_tools/python {sys.executable} readme.py $TUNEWIRE_TARGET | grep 'before block'"
    commands = [line for line in commands if not line.startswith("make ")]
    assert run_all([*commands, run_python], clone) >= 8


def test_every_path_the_documents_name_is_there():
    for document in ("README.md", "docs/DESIGN.md", "docs/TESTING.md", "docs/CLI.md"):
        with open(os.path.join(ROOT, document), encoding="utf-8") as f:
            text = f.read()
        names = re.findall(r"\]\(([\w./]+)\)", text)
        names += re.findall(r"`((?:engine|protocol|phy|server|host_tools|tests|tools|examples|docs)/[\w./]*)`", text)
        assert names, document
        for name in names:
            here = os.path.join(os.path.dirname(document), name)
            assert any(os.path.exists(os.path.join(ROOT, path)) for path in (name, here)), (document, name)


def test_the_first_session_of_the_manual_works(clone):
    block = next(b for b in blocks_of("docs/CLI.md", "") if "tunewired" in b)
    assert run_all([line for line in block.splitlines() if line.strip()], clone) >= 5


def test_make_help_names_every_target():
    done = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True)
    for target in ("all", "run", "test", "check", "bench", "fuzz", "clean", "help", "setup"):
        assert re.search(rf"^{target}\s+\S", done.stdout, re.M), target
