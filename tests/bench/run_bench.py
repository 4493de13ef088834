"""run_bench.py [--only NAME]: measure ratios against named peers; print and keep them in build/bench.json.

Every figure is a ratio taken in one run, interleaved with its peer: median of many pairs, with quartiles.
"""
import argparse
import array
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from graph_texts import amplifier_chain, chain, filter_chain  # noqa: E402
import gen_graph  # noqa: E402

PLATFORM = "examples/platform/top_manifest_computer.txt"
# figure: (peer, graph text or its file, options of the daemon)
FIGURES = {
    "rpc_setparam": ("raw_tcp_pingpong", "examples/voice_gate.txt", []),
    "rpc_pipelined64": ("raw_tcp_coalesced", "examples/voice_gate.txt", []),
    "txn_1000": ("raw_tcp_same_turns", filter_chain(500), ["--io", "audio_in_0=ramp"]),
    "blob_upload": ("raw_tcp_stream", "examples/voice_gate.txt", []),
    "arc_stream": ("raw_tcp_blocks", amplifier_chain(7), ["--io", "audio_in_0=ramp", "--pace", "fast"]),
}

# What the scheduler adds to the kernels it calls: figures, their peers and limits (None: told, not held to).
ENGINE = "engine"
ENGINE_FIGURES = {
    "engine_vs_direct": ("direct_calls_20_biquads_64_samples", 1.10),
    "engine_vs_direct_8": ("direct_calls_20_biquads_8_samples", None),
    "node_cost_flat": ("chain_of_10_nodes", 1.3),
}
ENGINE_ROUNDS = 31

# What a client's actions add to a block, on a thread that a system call kills.
CLIENT, CLIENT_ROUNDS = "client_action", 9

# Processor time of 20 biquads over a file of a minute: the whole daemon against GStreamer's running pipeline.
GSTREAMER, GSTREAMER_LIMIT, GSTREAMER_PAIRS, SECONDS, RATE, FRAME = "engine_vs_gstreamer", 0.33, 7, 60, 48000, 64
BIQUADS, LOW_PASS = 20, "0.29289323,0.58578646,0.29289323,0,-0.17157287"  # preset 2 of arm_stream_filter

# Ten small scripts against Lua 5.4: pairs, and how many times as fast their geometric mean is wanted.
SCRIPT, SCRIPT_PAIRS, SCRIPT_WANTED = "script_vs_lua", 31, 1.5

# The compiler against the limits it is held to: nodes of the small and the large graph, pairs, seconds, growth.
COMPILE = "compile_scale"
SMALL, LARGE, COMPILE_PAIRS, LIMIT_S, LIMIT_GROWTH = 1000, 10000, 9, 2.0, 1.5


def pin(cpu):
    # Both peers and the client share one core, so that the ratio compares work, not wake-up luck.
    os.sched_setaffinity(0, {cpu})


def start_server(image, cpu, options):
    command = ["build/host/tunewired", "--platform", PLATFORM, "--listen",
               "127.0.0.1:0", "--graph", image, "--log-level", "error", "--io", "line_out_0=null", *options]
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: pin(cpu))
    line = p.stdout.readline()
    if "tcp://" not in line:
        raise SystemExit(f"tunewired did not start: {line!r}")
    threading.Thread(target=p.stdout.read, daemon=True).start()
    return p, int(line.rsplit(":", 1)[1])


def measure(name, folder, cpu):
    peer, graph, options = FIGURES[name]
    text, image = graph, os.path.join(folder, f"{name}.twg")
    if "\n" in graph:
        text = os.path.join(folder, f"{name}.txt")
        with open(text, "w") as f:
            f.write(graph)
    subprocess.run(["build/host/tunewire", "compile", text, "-o", image, "--platform", PLATFORM],
                   check=True, stdout=subprocess.DEVNULL)
    server, port = start_server(image, cpu, options)
    try:
        out = subprocess.run(["build/host/bench_rpc", "127.0.0.1", str(port), name, str(server.pid)], check=True,
                             stdout=subprocess.PIPE, text=True, preexec_fn=lambda: pin(cpu)).stdout.split()
    finally:
        server.terminate()
        server.wait()
    value, ratio, low, high = float(out[1]), *map(float, out[3:6])
    print(f"bench {name} ratio={ratio:.3f} value={value:.6g} unit={out[2]} peer={peer} spread={low:.3f}..{high:.3f}"
          + (f" kept={float(out[9]):.3f}" if name == "arc_stream" else ""), flush=True)
    return {"ratio": ratio, "value": value, "unit": out[2], "peer": peer, "spread": [low, high], "pairs": int(out[6]),
            "call_bytes": int(out[7]), "reply_bytes": int(out[8]), "kept": float(out[9])}


def measure_compile(folder, cpu):
    """compile_10k: seconds for the large graph; compile_scaling: its time per node over the small one's."""
    for nodes in (SMALL, LARGE):
        with open(os.path.join(folder, f"{nodes}.txt"), "w") as f:
            f.write(gen_graph.text(nodes))
    out = subprocess.run(["build/host/bench_compile", PLATFORM, os.path.join(folder, f"{SMALL}.txt"),
                          os.path.join(folder, f"{LARGE}.txt"), str(LARGE // SMALL), str(COMPILE_PAIRS)], check=True,
                         stdout=subprocess.PIPE, text=True, preexec_fn=lambda: pin(cpu)).stdout.split()
    rows = {}
    for name, (value, low, high), unit, limit in (("compile_10k", map(float, out[0:3]), "s", LIMIT_S),
                                                  ("compile_scaling", map(float, out[3:6]), "x", LIMIT_GROWTH)):
        # of the limit in seconds the ratio is the part used; growth is a ratio by itself
        ratio, spread = (value / limit, [low / limit, high / limit]) if unit == "s" else (value, [low, high])
        peer = f"limit_{limit:g}{unit if unit == 's' else ''}"
        print(f"bench {name} ratio={ratio:.3f} value={value:.6g} unit={unit} peer={peer} "
              f"spread={spread[0]:.3f}..{spread[1]:.3f}", flush=True)
        rows[name] = {"ratio": ratio, "value": value, "unit": unit, "peer": peer, "spread": spread,
                      "pairs": int(out[6])}
    return rows


def measure_engine(cpu):
    out = subprocess.run(["build/host/bench_engine", PLATFORM, str(ENGINE_ROUNDS)], check=True, stdout=subprocess.PIPE,
                         text=True, preexec_fn=lambda: pin(cpu)).stdout
    rows = {}
    for line in out.splitlines():
        name, *numbers = line.split()
        ratio, low, high, node_ns, peer_ns = map(float, numbers)
        peer, limit = ENGINE_FIGURES[name]
        print(f"bench {name} ratio={ratio:.3f} value={node_ns:.6g} unit=ns_per_node peer={peer} "
              f"spread={low:.3f}..{high:.3f}" + (f" limit={limit:g}" if limit else ""), flush=True)
        rows[name] = {"ratio": ratio, "value": node_ns, "unit": "ns_per_node", "peer": peer, "peer_value": peer_ns,
                      "spread": [low, high], "pairs": ENGINE_ROUNDS, "limit": limit}
    return rows


def measure_client():
    """client_action_p999: not pinned, for the engine's thread and the client run side by side."""
    out = subprocess.run(["build/host/bench_client", str(CLIENT_ROUNDS)], check=True, stdout=subprocess.PIPE, text=True)
    ratio, low, high, value, peer_us, blocks, *rest = map(float, out.stdout.split())
    print(f"bench client_action_p999 ratio={ratio:.3f} value={value:.6g} unit=us peer=blocks_left_alone "
          f"spread={low:.3f}..{high:.3f}", flush=True)
    print("  block [us] alone: p50 {:.2f} p99 {:.2f} p99.9 {:.2f}; under load: p50 {:.2f} p99 {:.2f} p99.9 {:.2f}".format(
        rest[0], rest[1], peer_us, rest[2], rest[3], value), flush=True)
    return {"client_action_p999": {"ratio": ratio, "value": value, "unit": "us", "peer": "blocks_left_alone",
                                   "peer_value": peer_us, "spread": [low, high], "pairs": CLIENT_ROUNDS,
                                   "blocks": int(blocks), "alone_us": rest[:2], "with_us": rest[2:]}}


def measure_script(cpu):
    """A row for each kernel and one for their geometric mean; a ratio is Lua's time over ours, in the same pair."""
    out = subprocess.run(["build/host/bench_script", str(SCRIPT_PAIRS)], check=True, stdout=subprocess.PIPE, text=True,
                         preexec_fn=lambda: pin(cpu)).stdout
    rows = {}
    for line in out.splitlines():
        name, *numbers = line.split()
        ratio, low, high, ours_ns, lua_ns, compact_ns = map(float, numbers)
        row = SCRIPT if name == "geometric_mean" else f"{SCRIPT}_{name}"
        wanted = SCRIPT_WANTED if name == "geometric_mean" else None
        print(f"bench {row} ratio={ratio:.3f} value={ours_ns:.6g} unit=ns_per_call peer=lua_5.4 "
              f"spread={low:.3f}..{high:.3f} lua_ns={lua_ns:.6g} compact_ns={compact_ns:.6g}"
              + (f" wanted={wanted:g}" if wanted else ""), flush=True)
        rows[row] = {"ratio": ratio, "value": ours_ns, "unit": "ns_per_call", "peer": "lua_5.4", "peer_value": lua_ns,
                     "compact_value": compact_ns, "spread": [low, high], "pairs": SCRIPT_PAIRS, "wanted": wanted}
    return rows


def write_noise(path):
    """A WAV of 32-bit floats, one channel."""
    rand = random.Random(1)
    data = array.array("f", (rand.uniform(-0.5, 0.5) for _ in range(SECONDS * RATE))).tobytes()
    fmt = struct.pack("<4sIHHIIHHH", b"fmt ", 18, 3, 1, RATE, 4 * RATE, 4, 32, 0)
    fact = struct.pack("<4sII", b"fact", 4, len(data) // 4)
    body = b"WAVE" + fmt + fact + struct.pack("<4sI", b"data", len(data)) + data
    with open(path, "wb") as f:
        f.write(b"RIFF" + struct.pack("<I", len(body)) + body)


def cpu_of(command, cpu):
    """Processor seconds of a command from start to end."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          preexec_fn=lambda: pin(cpu)) as p:
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 0:
        raise SystemExit(f"{command[0]} failed")
    return used.ru_utime + used.ru_stime


def measure_gstreamer(folder, cpu):
    wav, text, image = (os.path.join(folder, n) for n in ("noise.wav", "biquads.txt", "biquads.twg"))
    write_noise(wav)
    with open(text, "w") as f:
        f.write(chain("arm_stream_filter", BIQUADS, 27, 4 * FRAME, "node_preset 2\n"))
    subprocess.run(["build/host/tunewire", "compile", text, "-o", image, "--platform", PLATFORM], check=True,
                   stdout=subprocess.DEVNULL)
    ours = ["build/host/tunewired", "--platform", PLATFORM, "--graph", image, "--listen", "127.0.0.1:0", "--pace", "fast",
            "--blocks", str(SECONDS * RATE // FRAME), "--io", f"audio_in_0=once:{wav}", "--io", "line_out_0=null"]
    theirs = ["/usr/bin/python3", "tests/bench/gst_biquads.py", wav, str(BIQUADS), LOW_PASS]
    pairs = []
    for _ in range(GSTREAMER_PAIRS):
        peer = float(subprocess.run(theirs, check=True, stdout=subprocess.PIPE, text=True,
                                    preexec_fn=lambda: pin(cpu)).stdout)
        pairs.append((cpu_of(ours, cpu), peer))
    ratios = sorted(a / b for a, b in pairs)
    ratio, spread = statistics.median(ratios), [ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]]
    value, peer_s = (statistics.median(x) for x in zip(*pairs))
    print(f"bench {GSTREAMER} ratio={ratio:.3f} value={value:.6g} unit=cpu_s peer=gstreamer_20_audioiirfilter "
          f"spread={spread[0]:.3f}..{spread[1]:.3f} limit={GSTREAMER_LIMIT:g}", flush=True)
    return {GSTREAMER: {"ratio": ratio, "value": value, "unit": "cpu_s", "peer": "gstreamer_20_audioiirfilter",
                        "peer_value": peer_s, "spread": spread, "pairs": GSTREAMER_PAIRS, "limit": GSTREAMER_LIMIT}}


def machine(cpu):
    """What a reader must know to judge the figures. Ratios hold over changes of the clock, values do not."""
    def read(path):
        try:
            with open(path) as f:
                return f.read()
        except OSError:
            return ""
    model = [line.split(":", 1)[1].strip() for line in read("/proc/cpuinfo").splitlines() if "model name" in line]
    governor = read(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor").strip()
    return {"cpu": model[0] if model else "?", "core": cpu, "governor": governor or "not told",
            "load": round(os.getloadavg()[0], 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", choices=["", *FIGURES, COMPILE, ENGINE, SCRIPT, CLIENT, GSTREAMER])
    a = parser.parse_args()
    cpu = max(os.sched_getaffinity(0))
    about = machine(cpu)
    print("machine:", ", ".join(f"{k} {v}" for k, v in about.items()), flush=True)
    path = "build/bench.json"
    kept = {}
    if os.path.exists(path):
        with open(path) as f:
            kept = json.load(f)
    with tempfile.TemporaryDirectory() as folder:
        for name in [a.only] if a.only else [*FIGURES, COMPILE, ENGINE, SCRIPT, CLIENT, GSTREAMER]:
            rows = (measure_compile(folder, cpu) if name == COMPILE else
                    measure_engine(cpu) if name == ENGINE else
                    measure_script(cpu) if name == SCRIPT else
                    measure_client() if name == CLIENT else
                    measure_gstreamer(folder, cpu) if name == GSTREAMER else {name: measure(name, folder, cpu)})
            kept.update({row: dict(figures, machine=about) for row, figures in rows.items()})
    with open(path, "w") as f:
        json.dump(kept, f, indent=1)
    return 0


sys.exit(main())
