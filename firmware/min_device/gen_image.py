"""gen_image.py IMAGE.twg PLATFORM.h: the graph image and a test signal as C, in the sections the linker script places in flash.

The signal: quiet noise, and from time to time a tone inside and outside of the filter's band. Integers alone, so that
every computer makes the same.
"""
import sys

# a quarter of a sine, 32767 * sin(pi/2 * i/16)
QUARTER = [0, 3212, 6393, 9512, 12539, 15446, 18204, 20787, 23170, 25329, 27245, 28898, 30273, 31356, 32137, 32609,
           32767]


def sine(phase):
    """Phase in 1/64 of a turn."""
    phase %= 64
    half, k = phase >= 32, phase % 32
    value = QUARTER[k if k <= 16 else 32 - k]
    return -value if half else value


def signal():
    seed, out = 0x1234567, []
    for i in range(4096):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        noise = (seed >> 24) - 128
        burst = i // 512
        tone = sine(7 * i) // 4 if burst == 3 else sine(i) // 4 if burst == 5 else 0
        out.append(noise + tone)
    return out


def main():
    image = open(sys.argv[1], "rb").read()
    with open(sys.argv[2], "w", encoding="ascii") as header:
        header.write(f"#define MIN_PLATFORM 0x{int.from_bytes(image[40:44], 'little'):08X}u\n")
    samples = signal()
    print('#include "firmware/min_device/min_device.h"')
    print('__attribute__((section(".image.graph"), aligned(16))) const uint8_t min_image[] = {')
    for i in range(0, len(image), 20):
        print("    " + " ".join(f"{b}," for b in image[i:i + 20]))
    print("};")
    print(f"const uint32_t min_image_bytes = {len(image)};")
    print('__attribute__((section(".image.signal"))) const int16_t min_signal[] = {')
    for i in range(0, len(samples), 16):
        print("    " + " ".join(f"{v}," for v in samples[i:i + 16]))
    print("};")
    print(f"const uint32_t min_signal_samples = {len(samples)};")


main()
