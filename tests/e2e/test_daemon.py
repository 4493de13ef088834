"""tunewired as a user meets it: what it writes, what it says, how it starts, refuses and ends."""
import os
import re
import signal
import socket
import subprocess
import time

import pytest
from conftest import DAEMON, PLATFORM, ROOT, TOOL, chain_text, wait_for

GRAPH = "examples/voice_gate.txt"


def run(*args, cwd=None, timeout=15):
    return subprocess.run([DAEMON, *map(str, args)], capture_output=True, text=True, timeout=timeout, cwd=cwd)


def test_nothing_is_written_unless_asked(compiled, tmp_path):
    folder = tmp_path / "cwd"
    folder.mkdir()
    done = run("--platform", PLATFORM, "--graph", compiled(GRAPH), "--listen", "127.0.0.1:0", "--pace", "fast",
               "--blocks", "50", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert os.listdir(folder) == []
    done = run("--platform", PLATFORM, "--graph", compiled(GRAPH), "--listen", "127.0.0.1:0", "--pace", "fast",
               "--blocks", "50", "--io", "line_out_0=played.wav", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert os.listdir(folder) == ["played.wav"]


def test_late_blocks_are_told_of_with_the_worst_and_not_again_at_once(server, compiled):
    s = server(graph=compiled(chain_text(1)))

    def pause():
        os.kill(s.pid, signal.SIGSTOP)
        time.sleep(0.1)
        os.kill(s.pid, signal.SIGCONT)

    def told():
        return re.findall(r"warning: (\d+) blocks? late in \d+ s, worst by (\d+) us", open(s.log_path).read())

    time.sleep(0.1)
    pause()
    assert wait_for(lambda: told(), 4)
    assert any(int(worst) >= 50000 for _, worst in told())
    for _ in range(3):
        pause()
        time.sleep(0.8)
    assert len(told()) == 1
    s.stop()
    late = re.search(r"stopped after \d+ blocks, (\d+) late", open(s.log_path).read())
    assert late and int(late[1]) > int(told()[0][0])
