"""The command line as it is typed: every example of the help, JSON, no device, a device that dies, Ctrl-C."""
import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest
from conftest import ROOT, TOOL, chain_text, read_wav, wait_for

VERBS = [tuple(line.split(" ")) for line in """compile decompile load unload start stop step reset info nodes arcs params get set
preset log ping stats schema completion""".split()] + [("arc", w) for w in ("list", "read", "scope", "record")] + [
    ("script", w) for w in ("list", "load", "run", "stop", "asm", "disasm")]
GONE = "tcp://127.0.0.1:1"


@pytest.fixture
def device(server, compiled):
    return server(graph=compiled("examples/voice_gate.txt"))


def tool(*args, uri=None, cwd=None, timeout=20, **env):
    command = [TOOL, *(["-t", uri] if uri else []), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=cwd,
                          env=dict(os.environ, **env))


def examples_of(verb):
    text = tool(*verb, "--help").stdout
    return [line.strip() for line in text.split("examples:\n")[1].splitlines() if line.strip()]


@pytest.fixture
def clone(tmp_path):
    """A folder that looks like a clone, where examples may leave files."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in ("examples", "engine", "build"):
        os.symlink(os.path.join(ROOT, name), folder / name)
    return folder


def start_waiting(device, *words, cwd=ROOT):
    """A change that waits to be confirmed, and the device says so."""
    waiting = subprocess.Popen([TOOL, "-t", device.uri, *words], cwd=cwd, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    assert wait_for(lambda: "confirm_ms" in json.loads(tool("--json", "info", uri=device.uri).stdout)["graph"])
    return waiting


def test_every_example_of_every_help_works(device, clone):
    ran = 0
    # What others need is made first; what ends the graph comes last.
    order = sorted(VERBS, key=lambda v: {("compile",): -2, ("script", "asm"): -1, ("unload",): 1}.get(v, 0))
    for verb in order:
        examples = examples_of(verb)
        assert examples, f"{verb}: no example"
        for line in examples:
            args = shlex.split(line.split(" > ")[0])[1:]
            endless = args[:2] == ["arc", "scope"] and "--once" not in args and "--seconds" not in args
            if endless or "--follow" in args:
                continue  # test_ctrl_c_... runs these
            args += ["--seconds", "0.3"] if "--seconds" in args else []
            if verb in (("confirm",), ("revert",)):
                waiting = start_waiting(device, "set", "amplifier.0.mute=off", "--confirm", "20s")
            elif verb == ("rollback",) and "--fade" not in args:
                assert tool("load", "examples/voice_gate.txt", uri=device.uri, cwd=clone).returncode == 0
            if "--confirm" in args:
                waiting = start_waiting(device, *args, cwd=clone)
                done = tool("confirm", uri=device.uri)
                assert waiting.wait(10) == 0, line
            else:
                done = tool(*args, uri=device.uri, cwd=clone)
            assert done.returncode == 0, f"{line}: {done.stderr}"
            ran += 1
        if verb in (("load",), ("step",)):  # an example stopped the graph
            assert tool("start", uri=device.uri).returncode == 0
    assert ran > 40


@pytest.mark.parametrize("first", ["graph", "arc", "script"])
def test_help_of_a_first_word_lists_what_may_follow(first):
    listed = tool("help", first)
    second = [line.split()[:2] for line in listed.stdout.splitlines()]
    assert listed.returncode == 0 and len(second) > 2 and all(words[0] == first for words in second)
    assert all(tool("help", *words).stdout.startswith("usage:") for words in second)
    assert tool("help", first[:-1]).returncode == 2


JSON = ["info", "nodes", "arcs", "params", "get amplifier.0", "set amplifier.0.gain_db=-6",
        "set filter.0 --lowpass 1kHz", "preset filter.0 1", "stop", "step 3", "start", "reset", "arc list", "arc read 1",
        "arc scope 1 --once",
        "script list", "script run 0", "log", "ping -c 2 -i 1", "stats", "schema", "unload"]


def test_json_is_json_and_nothing_else(device):
    for line in JSON:
        done = tool("--json", *line.split(), uri=device.uri)
        assert done.returncode == 0 and done.stderr == "", f"{line}: {done.stderr}"
        rows = [json.loads(row) for row in done.stdout.splitlines()]
        assert rows and all(isinstance(row, dict) for row in rows), line


def test_failures_are_json_too(device):
    for line, code in (("get nosuch.0", 2), ("load /nonexistent.twg", 4), ("set amplifier.0.mute=on --at 1", 1)):
        done = tool("--json", *line.split(), uri=device.uri)
        assert done.returncode == code and json.loads(done.stdout)["error"]["exit"] == code, line
        assert done.stderr.startswith("tunewire: ")


def test_without_a_server_every_verb_says_so_at_once(tmp_path):
    for verb in ("info", "nodes", "arc scope 0", "log --follow", "set a.0.b=1", "ping", "stats"):
        start = time.monotonic()
        done = tool(*verb.split(), uri=GONE)
        assert done.returncode == 3 and time.monotonic() - start < 3, verb
        assert "127.0.0.1:1" in done.stderr and "tunewired" in done.stderr, done.stderr
        assert done.stdout == ""


def test_at_counts_from_now(device):
    def tick():
        deadline = time.monotonic() + 10
        graph = None
        while graph is None and time.monotonic() < deadline:  # a busy machine has not begun its first block yet
            graph = json.loads(tool("--json", "info", uri=device.uri).stdout)["graph"]
        return graph["tick"]
    before = tick()
    for line in ("set amplifier.0.mute=on --at +300", "set filter.0 --bypass --at +300"):
        done = tool("--json", *line.split(), uri=device.uri)
        assert before + 300 <= json.loads(done.stdout)["applied_tick"] <= tick() + 300, done.stderr


def test_a_server_that_dies_ends_what_watches_it(device, tmp_path):
    lines = (("arc", "scope", "0"), ("arc", "record", "0", str(tmp_path / "r.wav")), ("log", "--follow"),
             ("ping", "-c", "9999"))
    running = [subprocess.Popen([TOOL, "-t", device.uri, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True) for line in lines]
    time.sleep(0.6)
    device.kill()
    for line, p in zip(lines, running):
        _, err = p.communicate(timeout=5)
        assert p.returncode == 1 and "closed" in err, (line, err)
    assert len(read_wav(tmp_path / "r.wav")) >= 4800  # what came before is kept


@pytest.mark.parametrize("line", ["arc scope 0", "log --follow", "log -f --level warn", "arc record 0 FILE",
                                  "ping -c 9999"])
def test_ctrl_c_ends_watching_cleanly(device, tmp_path, line):
    line = [str(tmp_path / "r.wav") if w == "FILE" else w for w in line.split()]
    p = subprocess.Popen([TOOL, "-t", device.uri, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    start = time.monotonic()
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=5)
    assert p.returncode == 0 and err == "" and time.monotonic() - start < 1
    if "record" in line:
        assert len(read_wav(line[-1])) >= 9600
    with subprocess.Popen([TOOL, "-t", device.uri, "info"], stdout=subprocess.PIPE) as after:
        assert after.wait(5) == 0


def on_terminal(*args, uri, columns=80, seconds=0.6, keys=b"", **env):
    """What a terminal of that width gets to see."""
    try:
        pid, fd = pty.fork()
    except OSError as e:
        pytest.skip(f"this machine gives no terminal: {e}")
    if pid == 0:
        os.environ.update(env)
        os.execv(TOOL, [TOOL, "-t", uri, *args])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    seen, end, sent = b"", time.monotonic() + 10, False
    start = time.monotonic()
    while time.monotonic() < end:
        if keys and not sent and time.monotonic() - start > seconds:
            os.write(fd, keys)
            sent = True
        if select.select([fd], [], [], 0.05)[0]:
            try:
                chunk = os.read(fd, 65536)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return os.waitstatus_to_exitcode(status), seen.decode("utf-8", "strict")


def plain(text):
    return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_the_scope_never_is_wider_than_the_terminal(device, columns):
    code, seen = on_terminal("arc", "scope", "0", "2", "--seconds", "0.5", uri=device.uri, columns=columns,
                             LC_ALL="C.UTF-8")
    assert code == 0
    # The first picture may come before the terminal has its size.
    pictures = seen.split("\x1b[H\x1b[2J")[-1]
    widths = [len(line.rstrip("\r")) for line in plain(pictures).split("\n")]
    assert max(widths) <= max(columns, 22) and "\u2800" in seen


@pytest.mark.parametrize("env", [{"LC_ALL": "C"}, {"LC_ALL": "", "LC_CTYPE": "", "LANG": "POSIX"},
                                 {"LC_ALL": "de_DE.ISO-8859-1"}])
def test_without_utf8_the_scope_is_ascii(device, env):
    code, seen = on_terminal("arc", "scope", "0", "--seconds", "0.5", uri=device.uri, **env)
    assert code == 0 and seen.isascii() and ":" in plain(seen)


def test_no_color_means_none(device):
    for args in (("arc", "scope", "0", "--seconds", "0.4"), ("params",), ("get", "nosuch")):
        _, seen = on_terminal(*args, uri=device.uri, NO_COLOR="1")
        assert not re.search(r"\x1b\[[0-9;]*m", seen), args


def test_ctrl_c_in_the_scope_gives_the_cursor_back(device):
    code, seen = on_terminal("arc", "scope", "0", uri=device.uri, keys=b"\x03")
    assert code == 0 and "\x1b[?25l" in seen and seen.rstrip().endswith("\x1b[?25h")


def test_an_interrupted_upload_leaves_the_running_graph_alone(device, tmp_path):
    text = tmp_path / "g.txt"
    text.write_text(chain_text(1))
    stopped = subprocess.Popen([TOOL, "-t", device.uri, "load", "examples/voice_gate.txt"], cwd=ROOT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stopped.send_signal(signal.SIGINT)
    assert stopped.wait(5) in (0, 130, -signal.SIGINT)
    graph = json.loads(tool("--json", "info", uri=device.uri).stdout)["graph"]
    assert graph["state"] == "running" and graph["name"] == "voice_gate"


def test_bash_completes_names_of_the_live_device(device):
    script = f"""
        PATH={shlex.quote(os.path.dirname(TOOL))}:$PATH
        eval "$(tunewire completion bash)"
        COMP_LINE=$1 COMP_POINT=${{#1}}
        _tunewire 2>/dev/null
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    for line, want in ((f"tunewire -t {device.uri} get ampl", "amplifier.0."), ("tunewire arc sc", "scope"),
                       (f"tunewire -t {device.uri} set amplifier.0.gain_d", "amplifier.0.gain_db="),
                       (f"tunewire -t {device.uri} arc scope out", "out.io_platform_line_out_0"),
                       ("TUNEWIRE tunewire arc scope in.io_platform_a", "in.io_platform_audio_in_0")):
        line = line.replace("TUNEWIRE ", "")
        done = subprocess.run(["bash", "-c", script, "x", line], capture_output=True, text=True, timeout=10,
                              env=dict(os.environ, TUNEWIRE_TARGET=device.uri))
        assert want in done.stdout.splitlines(), (line, done.stdout, done.stderr)


ZSHRC = """PS1=
unsetopt PROMPT_SP BEEP
autoload -Uz compinit
compinit -u -D
eval "$(tunewire completion zsh)"
show() { print -r -- "<$BUFFER>"; BUFFER= }
zle -N show
bindkey '^T' show
print ready
"""


class Zsh:
    """An interactive zsh on a terminal; complete() types a line and Tab and says what stands there then."""

    def __init__(self, folder, target):
        (folder / ".zshrc").write_text(ZSHRC)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execvpe("zsh", ["zsh", "-d", "-i"], dict(os.environ, TERM="dumb", ZDOTDIR=str(folder), COLUMNS="200",
                       TUNEWIRE_TARGET=target, PATH=os.path.dirname(TOOL) + os.pathsep + os.environ["PATH"]))
        self.until(b"ready\r\n")

    def until(self, mark):
        seen, end = b"", time.monotonic() + 10
        while mark not in seen and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                seen += os.read(self.fd, 4096)
        assert mark in seen, seen
        return seen

    def complete(self, line):
        os.write(self.fd, line.encode() + b"\t\x14")
        return re.findall(rb"<([^<>]*)>\r\n", self.until(b">\r\n"))[-1].decode()

    def close(self):
        os.write(self.fd, b"exit\n")
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_completes_verbs_options_files_and_live_names(device, tmp_path):
    shell = Zsh(tmp_path, device.uri)
    for line, want in (("tunewire arc sc", "tunewire arc scope "), ("tunewire compl", "tunewire completion "),
                       ("tunewire compile --pl", "tunewire compile --platform "),
                       ("tunewire compile examples/voice_gate_", "tunewire compile examples/voice_gate_f32.txt "),
                       ("tunewire get ampl", "tunewire get amplifier.0."),
                       ("tunewire set amplifier.0.gain_d", "tunewire set amplifier.0.gain_db="),
                       ("tunewire arc scope out.io_platform_l", "tunewire arc scope out.io_platform_line_out_0 ")):
        assert shell.complete(line) == want
    shell.close()
