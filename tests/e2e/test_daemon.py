"""tunewired as a user meets it: what it writes, what it says, how it starts, refuses and ends."""
import os
import re
import signal
import socket
import subprocess
import time

import pytest
from conftest import DAEMON, PLATFORM, TOOL, chain_text, wait_for

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


@pytest.mark.parametrize("args,code,says", [
    (["--platform", "/nonexistent.txt"], 1, "cannot read the top manifest"),
    (["--graph", "/nonexistent.twg"], 1, "No such file"),
    (["--graph", PLATFORM], 1, "tunewire compile"),
    (["--graph", "HALF"], 1, "not whole"),
    (["--io", "audio_in_0=/nonexistent.wav"], 1, "io_platform_audio_in_0: /nonexistent.wav"),
    (["--io", f"audio_in_0={PLATFORM}"], 1, "WAV"),
    (["--io", "nosuch=ramp"], 1, "io_platform_line_out_0"),
    (["--io", "line_out_0=ramp"], 1, "is an output"),
    (["--listen", "BUSY"], 1, "in use by another program"),
    (["--listen", "0.0.0.0:0"], 2, "--key FILE"),
    (["--listen", "nowhere:0"], 2, "no IPv4 or IPv6 address"),
    (["--listen", "127.0.0.1"], 2, "HOST:PORT"),
    (["--log-level", "loud"], 2, "error, warn, info (default) or debug"),
    (["--pace", "slow"], 2, "realtime|fast"),
])
def test_a_bad_start_says_what_and_ends(compiled, tmp_path, args, code, says):
    half = tmp_path / "half.twg"
    half.write_bytes(open(compiled(GRAPH), "rb").read()[:600])
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        place = {"HALF": str(half), "BUSY": f"127.0.0.1:{busy.getsockname()[1]}"}
        first = ["--platform", PLATFORM] if "--platform" not in args else []
        done = run(*first, *[place.get(a, a) for a in args])
    assert done.returncode == code and says in done.stderr and done.stdout == "", done.stderr


def loopback_v6():
    with socket.socket(socket.AF_INET6) as s:
        try:
            s.bind(("::1", 0))
            return True
        except OSError:
            return False


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "tcp://127.0.0.1:0", "[::1]:0", "127.0.0.9:0", "localhost:0"])
def test_every_way_to_name_this_machine_can_be_connected_to(server, listen):
    if "[" in listen and not loopback_v6():
        pytest.skip("this machine has no IPv6")
    s = server(listen=listen)
    done = subprocess.run([TOOL, "-t", s.uri, "ping", "-c", "1"], capture_output=True, text=True, timeout=10)
    assert done.returncode == 0, done.stderr


def test_sigterm_ends_it_whole_with_clients_connected(server, compiled):
    s = server(graph=compiled(GRAPH))
    watching = [subprocess.Popen([TOOL, "-t", s.uri, *line.split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for line in ("arc scope 0", "log --follow", "arc scope 2 --json")]
    time.sleep(0.4)
    start = time.monotonic()
    assert len(s.stop()) > 48 * 300
    assert time.monotonic() - start < 2
    assert [p.wait(5) for p in watching] == [1, 1, 1]


@pytest.mark.skipif(os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
                    reason="mounting a tiny disk needs root")
def test_a_full_disk_ends_the_recording_not_the_graph(compiled, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""mount -t tmpfs -o size=64k tmpfs {disk} &&
        {DAEMON} --platform {PLATFORM} --graph {compiled(GRAPH)} --listen 127.0.0.1:0 --blocks 3000 \
            --io line_out_0={disk}/played.wav; code=$?; cp {disk}/played.wav {tmp_path}/; exit $code"""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and "stopped after 3000 blocks" in done.stderr, done.stderr
    assert done.stderr.count("No space left on device") == 1
    assert 1 <= done.stderr.count("frames not recorded") <= 2
    assert (tmp_path / "played.wav").stat().st_size > 32768
