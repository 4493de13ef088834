"""Fixtures: a real tunewired on an ephemeral port, graphs compiled by the real tool, outputs read back."""
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import wave

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "host_tools", "python"), os.path.join(ROOT, "tests", "support")]
from graph_texts import amplifier_chain as chain_text  # noqa: E402, F401
TOOL = os.path.join(ROOT, "build", "host", "tunewire")
# TW_DAEMON: the same tests against another build, such as build/tsan/tunewired.
DAEMON = os.environ.get("TW_DAEMON", os.path.join(ROOT, "build", "host", "tunewired"))
PLATFORM = os.path.join(ROOT, "examples", "platform", "top_manifest_computer.txt")


def compile_graph(text_path, out_path):
    run = subprocess.run([TOOL, "compile", str(text_path), "-o", str(out_path), "--platform", PLATFORM],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return str(out_path)


class Server:
    """tunewired with its output in a WAV file; stop() returns the samples it played."""

    def __init__(self, folder, *args, ios=(), graph=None, key=None, listen="127.0.0.1:0"):
        self.out_path = os.path.join(str(folder), "out.wav")
        self.log_path = os.path.join(str(folder), "server.log")
        command = [DAEMON, "--platform", PLATFORM, "--listen", listen, "--io", f"line_out_0={self.out_path}"]
        for io in ios:
            command += ["--io", io]
        if graph:
            command += ["--graph", str(graph)]
        if key:
            command += ["--key", str(key)]
        command += list(args)
        self.log = open(self.log_path, "w")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if "tcp://" not in line:
            self.process.wait(5)
            raise AssertionError(f"tunewired did not start: {open(self.log_path).read()}")
        self.uri = line.split()[-1]
        self.port = int(self.uri.rsplit(":", 1)[1])
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(10)
        self.log.close()
        assert code == 0, open(self.log_path).read()
        return read_wav(self.out_path)

    def kill(self):
        if self.alive():
            self.process.kill()
            self.process.wait()


def read_wav(path):
    """Samples of a finished file: S16 as integers, FP32 scaled to the same integers (exact for those it holds)."""
    data = open(path, "rb").read()
    at, kind = 12, None
    while at + 8 <= len(data):
        name, size = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
        body = data[at + 8:at + 8 + size]
        if name == b"fmt ":
            kind = struct.unpack_from("<H", body)[0]
        elif name == b"data" and kind == 3:
            return tuple(v * 32768 for v in struct.unpack(f"<{size // 4}f", body))
        elif name == b"data":
            return struct.unpack(f"<{size // 2}h", body)
        at += 8 + size + size % 2
    raise AssertionError(f"{path} holds no samples")


def write_wav(path, samples, rate=48000):
    with wave.open(str(path), "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(rate)
        w.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return str(path)


def wait_for(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return False


@pytest.fixture
def server(tmp_path):
    made = []

    def start(*args, **kw):
        s = Server(tmp_path, *args, **kw)
        made.append(s)
        return s
    yield start
    for s in made:
        s.kill()


@pytest.fixture
def compiled(tmp_path):
    """compiled(text or path) -> path of the image."""
    counter = [0]

    def make(source):
        counter[0] += 1
        if "\n" in source:
            path = tmp_path / f"graph{counter[0]}.txt"
            path.write_text(source)
        else:
            path = os.path.join(ROOT, source)
        return compile_graph(path, tmp_path / f"graph{counter[0]}.twg")
    return make
