"""The tour that `make run` gives: a device is started, tuned, watched and reloaded while it plays recorded speech.

    examples/tour.py [--out FOLDER] [--seconds S] [--input FILE.wav]

Everything it does is printed as the command or the Python a user would type. The server is never restarted and
nothing is rebuilt. Leaves output.wav, tour.svg and the edited graph in the folder.
"""
import argparse
import difflib
import fcntl
import glob
import os
import shlex
import signal
import subprocess
import sys
import time
import wave

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STARTED_IN = os.getcwd()
os.chdir(ROOT)
sys.dont_write_bytecode = True
sys.path.insert(0, "host_tools/python")
sys.path.insert(0, "examples")

signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing to clean up yet: no traceback out of an import
try:
    import tunewire
    import tour_plot
except ImportError as e:
    raise SystemExit(f"{e}: start it by `make run`, which installs what it needs and uses /usr/bin/python3")
signal.signal(signal.SIGINT, signal.default_int_handler)

TOOL, DAEMON, GRAPH = "build/host/tunewire", "build/host/tunewired", "examples/voice_gate.txt"
PLATFORM = "examples/platform/top_manifest_computer.txt"
COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
CORNER_HZ, GAIN_DB, RATE_HZ, BLOCK = 1000, 6, 48000, 48

# The edit of step 5: the amplifier boots at -12 dB. Gain is FP_8m4e, 0805 is 1 and 0807 a quarter of it.
PLAIN = "node arm_stream_amplifier 0  ; 0 dB until told otherwise\n"
EDITED = """node arm_stream_amplifier 0  ; boots at -12 dB
    node_parameters
        1  u8; 0     ; all parameters
        1  u8; 6     ; slope
        1 h16; 0807  ; gain
        1  u8; 0     ; mute
        2 u16; 0 0   ; delays
    _end_
"""


def paint(text, code):
    return f"\x1b[{code}m{text}\x1b[0m" if COLOUR else text


def say(text=""):
    print("\n" + paint(text, 1), flush=True)


def show(command):
    print(paint(f"$ {command}", 36), flush=True)


def tool(*args):
    show(shlex.join((TOOL, *args)))
    run = subprocess.run((TOOL, *args))
    if run.returncode:
        raise SystemExit(f"the command failed with exit code {run.returncode}")


def find_speech():
    """Recorded speech of Debian's alsa-utils."""
    for path in ("/usr/share/sounds/alsa/Front_Center.wav", *sorted(glob.glob("/usr/share/sounds/alsa/*_*.wav"))):
        if os.path.exists(path):
            return path
    raise SystemExit("no recorded speech found: install alsa-utils or give --input FILE.wav (48 kHz, 16 bits)")


def start_device(wav, speech, log):
    """Its messages go to a file: in the middle of a live picture they would spoil it."""
    command = [DAEMON, "--platform", PLATFORM, "--listen", "127.0.0.1:0", "--io", f"audio_in_0={speech}",
               "--io", f"analog_sensor_0={speech}", "--io", f"line_out_0={wav}", "--log-level", "warn"]
    show(f"{shlex.join(command)} 2>{shlex.quote(log)} &")
    with open(log, "w", encoding="utf-8") as err:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True)


def wait_for_device(device):
    ready = device.stdout.readline().strip()
    if "tcp://" not in ready:
        raise SystemExit("the device did not start")
    print(ready)
    os.environ["TUNEWIRE_TARGET"] = ready.split()[-1]
    show(f"export TUNEWIRE_TARGET={ready.split()[-1]}")


def print_log(log):
    with open(log, encoding="utf-8", errors="replace") as f:
        sys.stdout.write(f.read())


def stop_device(device):
    """However the tour ends, nothing stays behind."""
    if device.poll() is None:
        device.send_signal(signal.SIGTERM)
    try:
        device.wait(10)
    except subprocess.TimeoutExpired:
        device.kill()
        device.wait()


def print_edit(old, new):
    for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1):
        if line[:3] not in ("---", "+++") and line[0] in "+-":
            print("  " + paint(line, 32 if line[0] == "+" else 31))


def retune(dev, amp):
    print(paint(f""">>> with dev.transaction() as txn:
...     dev["filter.0"].set_block(low_pass_q15({CORNER_HZ}, {RATE_HZ}))
...     amp["slope"], amp["gain_db"] = 8, {GAIN_DB}""", 36))
    with dev.transaction() as txn:
        dev["filter.0"].set_block(tour_plot.low_pass_q15(CORNER_HZ, RATE_HZ))
        amp["slope"], amp["gain_db"] = 8, GAIN_DB
    print(f"{txn.ops} changes, all applied before block {txn.tick}, none before block {txn.tick - 1}")
    return txn.tick


def reload_edited(dev, device, text, image):
    with open(GRAPH, encoding="utf-8") as f:
        original = f.read()
    edited = original.replace(PLAIN, EDITED)
    if edited == original:
        raise SystemExit(f"{GRAPH} was changed: the line to edit is not in it")
    print_edit(original, edited)
    before, start = dev.info().generation, time.monotonic()
    with open(text, "w", encoding="utf-8") as f:
        f.write(edited)
    tool("compile", text, "-o", image, "--platform", PLATFORM)
    tool("load", image)
    took_ms = (time.monotonic() - start) * 1000
    dev.refresh()
    info = dev.info()
    if device.poll() is not None or info.generation != before + 1:
        raise SystemExit("the device is not the one that was started")
    print(f"edited, compiled and swapped in {took_ms:.0f} ms: generation {before} -> {info.generation}, "
          f"still process {device.pid}")
    tool("get", "amplifier.0.gain_db")
    return info.ticks


def played_until(dev, tick):
    """A short look is followed by the rest of a pass, so that the plot can compare the same speech."""
    while dev.info().ticks < tick:
        time.sleep(0.02)


def tour(a, device, speech):
    """@return the blocks of the transaction and, nearly, of the reload"""
    text, image = os.path.join(a.out, "voice_gate.txt"), os.path.join(a.out, "voice_gate.twg")
    look = ("--seconds", f"{a.seconds:g}")
    say("1  Compile a graph text and load it into the running device")
    tool("compile", GRAPH, "-o", image)
    tool("load", image)
    tool("nodes")

    say("2  What can be tuned: every parameter with type, range and unit, told by the device")
    tool("params", "amplifier.0")

    print(paint('>>> dev = tunewire.connect(os.environ["TUNEWIRE_TARGET"]); amp = dev["amplifier.0"]', 36))
    with tunewire.connect(os.environ["TUNEWIRE_TARGET"]) as dev:
        amp = dev["amplifier.0"]
        arcs = [str(dev["filter.0"].in_arcs[0]), str(amp.out_arcs[0])]
        say("3  Watch two arcs live: what comes in, what goes out")
        tool("arc", "scope", *arcs, *look)
        pass_blocks = min(len(tour_plot.read(speech)[0]) // BLOCK, 2000)
        played_until(dev, pass_blocks)

        say("4  Retune it live: filter and gain change together, in one transaction, at one block boundary")
        changed = retune(dev, amp)
        tool("arc", "scope", *arcs, *look)
        played_until(dev, changed + 2 * pass_blocks + 150)

        say("5  Edit the graph text, compile, reload: same process, no gap")
        reloaded = reload_edited(dev, device, text, image)
        time.sleep(min(1.5, a.seconds))
        tool("info")
    return changed, reloaded


def what_next(a, wav, plot):
    out = shlex.quote(a.out)
    say("What it left")
    for path, what in ((wav, "what the device played"), (plot, "the same as a picture; a browser shows it"),
                       (os.path.join(a.out, "voice_gate.txt"), "the graph as edited in step 5")):
        print(f"  {path:26} {what}")
    say("Try next: start a device here")
    print(paint(f"{DAEMON} --platform {PLATFORM} --graph {out}/voice_gate.twg", 36))
    print("and in another terminal look, set, watch, reload (all verbs: docs/CLI.md)")
    for line in (f"{TOOL} params", f"{TOOL} set amplifier.0.gain_db=-12", f"{TOOL} set filter.0 --lowpass 2000",
                 f"{TOOL} arc scope 0 2 --seconds 10", f"{TOOL} load {out}/voice_gate.txt --platform {PLATFORM}",
                 "PYTHONPATH=host_tools/python /usr/bin/python3 examples/tune.py"):
        print(paint(line, 36))


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--out", default=os.path.join(ROOT, "build", "run"), help="folder for what it leaves (build/run)")
    p.add_argument("--seconds", type=float, default=3.0, help="time for each look at the scope")
    p.add_argument("--input", default=None, help="a WAV file of 48 kHz and 16 bits instead of the recorded speech")
    a = p.parse_args()
    if not 0.1 <= a.seconds <= 3600:
        p.error("--seconds: 0.1 to 3600")
    for name in ("out", "input"):  # as given, seen from where it was given; short when below the clone
        path = getattr(a, name) and os.path.join(STARTED_IN, getattr(a, name))
        setattr(a, name, os.path.relpath(path, ROOT) if path and path.startswith(ROOT + os.sep) else path)
    return a


def only_one(out):
    """Two tours in one folder would write the same files. The lock goes with the process."""
    lock = open(os.path.join(out, ".lock"), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SystemExit(f"another tour runs in {out}: wait for it, or give --out FOLDER") from None
    return lock


def main():
    a = arguments()
    os.makedirs(a.out, exist_ok=True)
    lock = only_one(a.out)
    wav, plot, log = (os.path.join(a.out, name) for name in ("output.wav", "tour.svg", "device.log"))
    speech = a.input or find_speech()
    say("Tunewire: tune a running graph over the wire")
    print(f"The device plays {speech} in a loop, in real time, in blocks of one millisecond.")
    device = start_device(wav, speech, log)
    try:
        wait_for_device(device)
        changed, reloaded = tour(a, device, speech)
    finally:
        stop_device(device)
        print_log(log)
    for line in tour_plot.plot(wav, speech, changed * BLOCK, reloaded * BLOCK, plot):
        print(line)
    what_next(a, wav, plot)
    lock.close()


def interrupted(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    try:
        main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        os._exit(130 if os.write(2, b"\ninterrupted; the device has been stopped\n") else 1)
    except BrokenPipeError:
        os._exit(1)  # nobody reads on; the device has been stopped
    except (tunewire.TunewireError, wave.Error, OSError) as e:
        raise SystemExit(f"tour: {e}")
