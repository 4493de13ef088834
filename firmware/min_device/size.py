"""size.py: run the smallest device in QEMU twice and print what it takes; fail when that is more than it may.

    size min-device text=N ram=N stack=N     engine text, compiler helpers included; RAM with the stack; stack alone
"""
import re
import subprocess
import sys

ELF = "build/min_device/min_device.elf"
TEXT_MAX, RAM_MAX = 12288, 1024
QEMU = ["qemu-system-arm", "-M", "microbit", "-display", "none", "-monitor", "none", "-serial", "none",
        "-semihosting-config", "enable=on,target=native", "-kernel", ELF]
# Modules of the engine, for information: object code before linking, so functions nobody calls are in it.
MODULES = [("engine-m0plus", "cortex-m0plus", ["engine/base", "engine/arc", "engine/graph"]),
           ("engine-m4", "cortex-m4", ["engine/base", "engine/arc", "engine/graph"])]
# The script machine on a Cortex-M4F, linked: what tw_script_run() needs. Its parts: the machine (decoding, dispatch,
# operands, pointers, calls), the arithmetic of 15 types, the short way for the frequent (TW_SCRIPT_SHORT), and the compiler's run-time library (64-bit division, double).
SCRIPT_FLAGS = ["-std=c11", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Os",
                "-ffunction-sections", "-fdata-sections", "-ffreestanding", "-fbuiltin", "-DTW_SCRIPT_FAST=0", "-I."]
# What -Os does for time alone is left out of all but the short way.
SCRIPT_SMALL = ["-fno-gcse", "-fno-thread-jumps", "-fno-caller-saves", "-fno-schedule-insns2"]
LABELS = {"vm-m4": "machine", "vm-values-m4": "values", "vm-short-m4": "short", "vm-library-m4": "library"}
SCRIPT_MAX = {"vm-m4": 4096, "vm-values-m4": 3584, "vm-short-m4": 2560}
SCRIPT_PROFILES = [("without the short way", ["-DTW_SCRIPT_SHORT=0"]),
                   ("without int64, uint64, fp64", ["-DTW_SCRIPT_WIDE=0"]), ("without floats", ["-DTW_SCRIPT_FLOAT=0"]),
                   ("int8 to uint32 alone", ["-DTW_SCRIPT_WIDE=0", "-DTW_SCRIPT_FLOAT=0"])]


def text_of(elf):
    out = subprocess.run(["arm-none-eabi-size", "-A", elf], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"^\.text\s+(\d+)", out, re.M)[1])


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    line = done.stdout + done.stderr
    found = dict(re.findall(r"(\w+)=(\d+)", line))
    if done.returncode != 0 or "crc" not in found:
        sys.exit(f"min-device: exit status {done.returncode}: {line.strip()}")
    return {k: int(v) for k, v in found.items()}


def module_text(cpu, folders):
    total = 0
    for folder in folders:
        files = subprocess.run(["git", "ls-files", f"{folder}/*.c"], capture_output=True, text=True).stdout.split()
        for path in files:
            if path.count("/") != 2:
                continue
            obj = "build/min_device/module.o"
            subprocess.run(["arm-none-eabi-gcc", "-std=c11", f"-mcpu={cpu}", "-mthumb", "-Os", "-ffreestanding", "-I.",
                            "-c", path, "-o", obj], check=True, stderr=subprocess.DEVNULL)
            out = subprocess.run(["arm-none-eabi-size", obj], capture_output=True, text=True, check=True).stdout
            total += int(out.splitlines()[1].split()[0])
    return total


def compiled(part, options=()):
    """Object of engine/script/script_<part>.c."""
    obj = f"build/min_device/script_{part}.o"
    subprocess.run(["arm-none-eabi-gcc", *SCRIPT_FLAGS, *([] if part == "short" else SCRIPT_SMALL), *options, "-c",
                    f"engine/script/script_{part}.c", "-o", obj], check=True)
    return obj


def script_text(options=()):
    """{part: bytes} of the linked script machine."""
    objects = [compiled(part, options) for part in ("vm", "short", "value", "op")]
    elf, where = "build/min_device/script.elf", "build/min_device/script.map"
    subprocess.run(["arm-none-eabi-gcc", *SCRIPT_FLAGS, "-nostdlib", "-Wl,--gc-sections,-e,tw_script_run,-u,tw_script_go",
                    f"-Wl,-Map={where}", *objects, "-lc", "-lgcc", "-o", elf], check=True, stderr=subprocess.DEVNULL)
    text = open(where).read()
    text = text[text.index("Linker script and memory map"):]
    parts = dict.fromkeys(LABELS, 0)
    for size, path in re.findall(r"^ \.(?:text|rodata)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+(\S+)$", text, re.M):
        name = "vm-library-m4" if path not in objects else "vm-values-m4" if "value" in path else "vm-m4"
        part = "vm-short-m4" if path.endswith("script_short.o") else name
        parts[part] += int(size, 16)
    return parts


def object_text(part):
    out = subprocess.run(["arm-none-eabi-size", compiled(part)], capture_output=True, text=True, check=True).stdout
    return int(out.splitlines()[1].split()[0])


def report_scripts():
    parts = script_text()
    for name, size in parts.items():
        print(f"size {name} text={size}")
    for what, options in SCRIPT_PROFILES:
        print(f"size vm-m4 ({what}) " + " ".join(f"{LABELS[n]}={v}" for n, v in script_text(options).items()))
    print(f"size verifier-m4 text={object_text('verify')}")
    print(f"size disasm-m4 text={object_text('disasm')}")
    for name, limit in SCRIPT_MAX.items():
        if parts[name] > limit:
            sys.exit(f"{name}: text={parts[name]}, at most {limit}")


def main():
    if "--scripts" in sys.argv:
        return report_scripts()
    first, second = run(QEMU), run(QEMU)
    host = run(["build/min_device/min_host"])
    text, ram = text_of(ELF), first["static"] + first["stack"]
    print(f"size min-device text={text} ram={ram} stack={first['stack']}")
    for name, cpu, folders in MODULES if "--brief" not in sys.argv else []:
        print(f"size {name} text={module_text(cpu, folders)}")
    if "--brief" not in sys.argv:
        report_scripts()
    if first != second:
        sys.exit(f"min-device: two runs differ: {first} and {second}")
    if first["crc"] != host["crc"]:
        sys.exit(f"min-device: output {first['crc']:08x}, on the host {host['crc']:08x}")
    if text > TEXT_MAX or ram > RAM_MAX:
        sys.exit(f"min-device: at most text={TEXT_MAX} ram={RAM_MAX}")


main()
