"""Two settings of a filter by turns, and the level each leaves: examples/ab_compare.py [URI] [--a PRESET] [--b PRESET]

Presets of the filter node: 0 bypass, 2 low-pass at a quarter of the sampling rate, 3 constant removed.
"""
import argparse

import tunewire


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("uri", nargs="?", default="tcp://127.0.0.1:5600")
    p.add_argument("--node", default="filter.0")
    p.add_argument("--a", type=int, default=0)
    p.add_argument("--b", type=int, default=2)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=1.0, help="of listening to each")
    a = p.parse_args()
    with tunewire.connect(a.uri) as dev:
        node = dev[a.node]
        before = node.get_block()
        levels = {"A": [], "B": []}
        try:
            for _ in range(a.rounds):
                for name, preset in (("A", a.a), ("B", a.b)):
                    tick = node.preset(preset)
                    levels[name].append(dev.level(node.out_arcs[0], a.seconds))
                    print(f"{name} (preset {preset}) from block {tick}: {levels[name][-1]:7.2f} dB", flush=True)
        finally:
            node.set_block(before)
    mean = {name: sum(values) / len(values) for name, values in levels.items()}
    print(f"B - A = {mean['B'] - mean['A']:+.2f} dB over {a.rounds} rounds; the setting found before is back")


if __name__ == "__main__":
    try:
        main()
    except tunewire.TunewireError as e:
        raise SystemExit(f"ab_compare: {e}")
