"""Load a graph, set and read parameters in one transaction, watch an arc: the whole client in a few lines."""
import sys

import tunewire

dev = tunewire.connect(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:5600")
dev.load(sys.argv[2] if len(sys.argv) > 2 else "build/run/voice_gate.twg")
with dev.transaction() as txn:
    dev["amplifier.0"]["gain_db"] = -6
    dev["amplifier.0"]["slope"] = 8
print("applied before block", txn.tick, "- gain is now", dev["amplifier.0"]["gain_db"], "dB")
for block in dev.subscribe(dev["amplifier.0"].out_arcs[0], blocks=5):
    print(block.seq, max(map(abs, block.samples)))
