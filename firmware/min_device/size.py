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
           ("engine-m4", "cortex-m4", ["engine/base", "engine/arc", "engine/graph"]),
           ("vm-m4", "cortex-m4", ["engine/script"])]


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


def main():
    first, second = run(QEMU), run(QEMU)
    host = run(["build/min_device/min_host"])
    text, ram = text_of(ELF), first["static"] + first["stack"]
    print(f"size min-device text={text} ram={ram} stack={first['stack']}")
    for name, cpu, folders in MODULES if "--brief" not in sys.argv else []:
        print(f"size {name} text={module_text(cpu, folders)}")
    if first != second:
        sys.exit(f"min-device: two runs differ: {first} and {second}")
    if first["crc"] != host["crc"]:
        sys.exit(f"min-device: output {first['crc']:08x}, on the host {host['crc']:08x}")
    if text > TEXT_MAX or ram > RAM_MAX:
        sys.exit(f"min-device: at most text={TEXT_MAX} ram={RAM_MAX}")


main()
