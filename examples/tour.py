"""The tour that `make run` gives: a device is started, tuned, watched and reloaded while it plays recorded speech.

    examples/tour.py [--out FOLDER] [--seconds S] [--input FILE.wav]

Everything it does is printed as the command a user would type. The server is never restarted and nothing
is rebuilt. Leaves output.wav and tour.svg in the folder.
"""
import argparse
import glob
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)
sys.path.insert(0, "host_tools/python")
sys.path.insert(0, "examples")

import tunewire  # noqa: E402
import tour_plot  # noqa: E402

TOOL, DAEMON = "build/host/tunewire", "build/host/tunewired"
PLATFORM = "examples/platform/top_manifest_computer.txt"
COLOUR = sys.stdout.isatty()


def say(text=""):
    print(f"\n\x1b[1m{text}\x1b[0m" if COLOUR else f"\n{text}", flush=True)


def shell(*args, quiet=False):
    shown = " ".join(a if re.fullmatch(r"[\w./:=@,+-]+", a) else repr(a) for a in args)
    print(f"\x1b[36m$ {shown}\x1b[0m" if COLOUR else f"$ {shown}", flush=True)
    run = subprocess.run(args, stdout=subprocess.DEVNULL if quiet else None)
    if run.returncode:
        raise SystemExit(f"the command failed with exit code {run.returncode}")


def find_speech():
    """Recorded speech of Debian's alsa-utils."""
    for path in ("/usr/share/sounds/alsa/Front_Center.wav", *sorted(glob.glob("/usr/share/sounds/alsa/*_*.wav"))):
        if os.path.exists(path):
            return path
    raise SystemExit("no recorded speech found: install alsa-utils or give --input FILE.wav (48 kHz)")


def start_device(out, speech):
    wav = os.path.join(out, "output.wav")
    command = [DAEMON, "--platform", PLATFORM, "--listen", "127.0.0.1:0", "--io", f"audio_in_0={speech}",
               "--io", f"analog_sensor_0={speech}", "--io", f"line_out_0={wav}", "--log-level", "warn"]
    print("$", " ".join(command), "&")
    device = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    ready = device.stdout.readline().strip()
    if "tcp://" not in ready:
        raise SystemExit("the device did not start; its messages are above")
    print(ready)
    return device, ready.split()[-1], wav


def tour(a, device, uri, wav):
    image = os.path.join(a.out, "voice_gate.twg")
    text = os.path.join(a.out, "voice_gate.txt")
    with open("examples/voice_gate.txt") as f:
        original = f.read()
    with open(text, "w") as f:
        f.write(original)
    t = [TOOL, "-t", uri]

    say("1  Compile a graph text and load it into the running device")
    shell(TOOL, "compile", text, "-o", image, "--platform", PLATFORM)
    shell(*t, "load", image)
    shell(*t, "nodes")

    say("2  What can be tuned: every parameter with type, unit and range, told by the device")
    shell(*t, "params", "amplifier.0")

    say("3  Watch two arcs live: what comes in, what goes out")
    with tunewire.connect(uri) as dev:
        amp = dev["amplifier.0"]
        arcs = [str(dev["filter.0"].in_arcs[0]), str(amp.out_arcs[0])]
        shell(*t, "arc", "scope", *arcs, "--seconds", str(a.seconds))

        say("4  Retune it live: filter and gain change together, in one transaction, at one block boundary")
        with dev.transaction() as txn:
            dev["filter.0"].set_block(tour_plot.low_pass_q15(1000, 48000))
            amp["slope"] = 8
            amp["gain_db"] = 6
        changed = txn.tick
        print(f"  transaction of {txn.ops} operations applied before block {changed}")
        shell(*t, "arc", "scope", *arcs, "--seconds", str(a.seconds))

        say("5  Edit the graph text, compile, reload: same process, no gap")
        before, pid = dev.info().generation, device.pid
        start = time.monotonic()
        edited = edit(original)
        with open(text, "w") as f:
            f.write(edited)
        shell(TOOL, "compile", text, "-o", image, "--platform", PLATFORM)
        shell(*t, "load", image)
        took = time.monotonic() - start
        dev.refresh()
        info = dev.info()
        assert device.poll() is None and device.pid == pid
        print(f"  edited, compiled and swapped in {took * 1000:.0f} ms; generation {before} -> {info.generation}, "
              f"process {pid} still the same, {info.late_blocks} of {info.ticks} blocks late")
        time.sleep(min(1.5, a.seconds))
        shell(*t, "log")
    return changed


def edit(text):
    """The edit a user might make: the amplifier boots at -12 dB (gain code 0807) instead of 0 dB (0805)."""
    out, n = re.subn(r"(1\s+h16\s*;\s*)0?805", r"\g<1>0807", text, count=1)
    return out if n else text + "\n; edited\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--out", default="build/run", help="folder for output.wav, tour.svg and the graph")
    p.add_argument("--seconds", type=float, default=3.0, help="time for each look at the scope")
    p.add_argument("--input", default=None, help="a 48 kHz WAV file instead of the recorded speech")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    speech = a.input or find_speech()
    say("Tunewire: tune a running graph over the wire")
    print(f"  The device below plays {speech} in a loop, in real time, in blocks of one millisecond.")
    device, uri, wav = start_device(a.out, speech)
    try:
        changed = tour(a, device, uri, wav)
    finally:
        if device.poll() is None:
            device.send_signal(signal.SIGTERM)
        device.wait(10)
    plot = os.path.join(a.out, "tour.svg")
    tour_plot.plot(wav, speech, changed * 48, plot)
    say("Done. What it left:")
    print(f"  {wav:28} what the device played")
    print(f"  {plot:28} waveform and spectrum before and after the transaction")
    print(f"  {os.path.join(a.out, 'voice_gate.txt'):28} the graph; edit it and load it again")
    say("Next: start a device, and in another terminal look, set, watch")
    print(f"  {DAEMON} --platform {PLATFORM} --graph {a.out}/voice_gate.twg")
    print(f"  {TOOL} params\n  {TOOL} set amplifier.0.gain_db=-12\n  {TOOL} set filter.0 --lowpass 2000\n"
          f"  {TOOL} arc scope 0\n  PYTHONPATH=host_tools/python /usr/bin/python3 examples/tune.py")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("\ninterrupted; the device has been stopped")
    except tunewire.TunewireError as e:
        raise SystemExit(f"tour: {e}")
