"""run_bench.py [--only NAME]: measure ratios against named peers; print and keep them in build/bench.json.

Every figure is a ratio taken in one run, interleaved with its peer, median of many pairs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading

PEERS = {"rpc_setparam": "raw_tcp_pingpong", "rpc_pipelined64": "raw_tcp_coalesced", "blob_upload": "raw_tcp_stream"}


def start_server(image, cpu):
    command = ["build/host/tunewired", "--platform", "examples/platform/top_manifest_computer.txt", "--listen",
               "127.0.0.1:0", "--graph", image, "--log-level", "error", "--io", "line_out_0=null"]
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: pin(cpu))
    line = p.stdout.readline()
    if "tcp://" not in line:
        raise SystemExit(f"tunewired did not start: {line!r}")
    threading.Thread(target=p.stdout.read, daemon=True).start()
    return p, int(line.rsplit(":", 1)[1])


def pin(cpu):
    # Both peers and the client share one core, so that the ratio compares work, not wake-up luck.
    os.sched_setaffinity(0, {cpu})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    a = parser.parse_args()
    cpu = max(os.sched_getaffinity(0))
    results = {}
    with tempfile.TemporaryDirectory() as d:
        image = os.path.join(d, "bench.twg")
        subprocess.run(["build/host/tunewire", "compile", "examples/voice_gate.txt", "-o", image], check=True,
                       stdout=subprocess.DEVNULL)
        server, port = start_server(image, cpu)
        try:
            for name, peer in PEERS.items():
                if a.only and a.only != name:
                    continue
                out = subprocess.run(["build/host/bench_rpc", "127.0.0.1", str(port), name], check=True,
                                     stdout=subprocess.PIPE, text=True, preexec_fn=lambda: pin(cpu)).stdout.split()
                value, unit, ratio, low, high = float(out[1]), out[2], *map(float, out[3:6])
                print(f"bench {name} ratio={ratio:.3f} value={value:.6g} unit={unit} peer={peer}"
                      f" spread={low:.3f}..{high:.3f}", flush=True)
                results[name] = {"ratio": ratio, "value": value, "unit": unit, "peer": peer,
                                 "spread": [low, high], "pairs": 41}
        finally:
            server.terminate()
            server.wait()
    if a.only and not results:
        raise SystemExit(f"no bench named {a.only}; there are {', '.join(PEERS)}")
    path = "build/bench.json"
    kept = json.load(open(path)) if os.path.exists(path) else {}
    kept.update(results)
    with open(path, "w") as f:
        json.dump(kept, f, indent=1)
    return 0


sys.exit(main())
