"""Level bars of a device's arcs, live in the terminal: examples/meters.py [URI] [ARC...] [--seconds S]"""
import argparse

import tunewire

WIDTH, FLOOR_DB = 48, -60.0


def bar(db):
    filled = round(WIDTH * max(0.0, min(1.0, 1 - db / FLOOR_DB)))
    return "#" * filled + "." * (WIDTH - filled) + (f" {db:6.1f} dB" if db > FLOOR_DB else "  quiet")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("uri", nargs="?", default="tcp://127.0.0.1:5600")
    p.add_argument("arcs", nargs="*", help="names or numbers; all when none is given")
    p.add_argument("--seconds", type=float, default=None)
    a = p.parse_args()
    with tunewire.connect(a.uri, retry_s=5) as dev:
        arcs = [dev.arc(int(n) if n.isdigit() else n) for n in a.arcs] or dev.arcs()
        names = [arc.name or f"arc {arc.arc}" for arc in arcs]
        wide = max(map(len, names))
        print("\n" * len(arcs), end="")
        for levels in dev.meters([arc.arc for arc in arcs], interval=0.1, seconds=a.seconds):
            print(f"\x1b[{len(arcs)}A" + "\n".join(f"{n:{wide}} {bar(db)}" for n, db in zip(names, levels)), flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
    except tunewire.TunewireError as e:
        raise SystemExit(f"meters: {e}")
