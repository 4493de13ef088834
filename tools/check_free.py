"""check_free.py LIB...: the freestanding libraries may need nothing but each other and the mem* functions."""
import subprocess
import sys

# What a C11 compiler itself may call, and the two hooks a port supplies.
ALLOWED = {"memcpy", "memmove", "memset", "memcmp", "tw_panic", "__cpu_model", "__cpu_indicator_init",
           "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}


def main():
    defined, needed = set(), {}
    for lib in sys.argv[1:]:
        lines = subprocess.run(["nm", "-A", lib], capture_output=True, text=True, check=True).stdout.splitlines()
        for line in lines:
            where, *rest = line.split(":", 2)[1:]
            kind, name = rest[0].split()[-2:]
            if kind == "U":
                needed.setdefault(name, where)
            else:
                defined.add(name)
    bad = {n: w for n, w in needed.items() if n not in defined and n not in ALLOWED}
    for name, where in sorted(bad.items()):
        print(f"{where} needs {name}: not available on a bare device")
    print(f"freestanding: {len(needed)} symbols needed, {len(bad)} not allowed")
    return 1 if bad else 0


sys.exit(main())
