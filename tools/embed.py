"""embed.py FILE NAME HEADER: print FILE as a C array NAME with NAME_bytes beside it."""
import sys

path, name, header = sys.argv[1:4]
data = open(path, "rb").read()
print(f'#include "{header}"')
print(f"const uint8_t {name}[] = {{")
for i in range(0, len(data), 20):
    print("    " + " ".join(f"{b}," for b in data[i:i + 20]))
print("};")
print(f"const uint32_t {name}_bytes = {len(data)};")
