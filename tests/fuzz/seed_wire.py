#!/usr/bin/python3
"""seed_wire.py: write the seeds of fuzz_frame, fuzz_conn and fuzz_rpc from the bytes of docs/WIRE_PROTOCOL.md.

Run from the repository root when a golden row or the form of a fuzz program changes. Each target's
input form is described beside its LLVMFuzzerTestOneInput; files that a search found are kept as they are.
"""
import pathlib
import re

doc = pathlib.Path("docs/WIRE_PROTOCOL.md").read_text()
block = re.search(r"^```golden\n(.*?)^```", doc, re.S | re.M).group(1)
golden = {name: bytes.fromhex(text) for name, text in (line.split(None, 1) for line in block.splitlines())}
frames = [v for k, v in golden.items() if not k.endswith("-cobs")]


def put(target, name, data):
    folder = pathlib.Path("tests/fuzz/corpus") / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed_{name}").write_bytes(data)


# max_frame, cut, raw bytes
for name, data in golden.items():
    put("frame", name, bytes([0, 4, 1]) + data)
put("frame", "all", bytes([200, 6, 1]) + b"".join(frames))
put("frame", "noise", bytes([0, 0, 1]) + b"\xa5\xa5\x01" + b"\xa5".join(frames))
# max_frame, cut, plan of frames: type flags stream len/2 damage noise payload
put("frame", "plan", bytes([9, 2, 0]) + bytes([0, 1, 0, 4, 0, 0x80]) + b"payload!" + bytes([2, 0, 4, 2, 0x93, 5]) +
    b"four" + bytes([3, 0, 4, 2, 0, 0]) + b"\0\x10\0\0")

# op, a, b: op bit 0 = end, bits 1..4 = what
OPEN = bytes([11 << 1, 200, 60])
DRAIN0, DRAIN1 = bytes([4 << 1, 0, 0]), bytes([4 << 1 | 1, 0, 0])


def made(end, kind, flags, stream, payload, damage=0):
    return bytes([end, 0, 0, kind, flags, stream, len(payload) // 4, damage]) + payload


put("conn", "hello", bytes([2 << 1 | 1, 7, 0]) + DRAIN1 + bytes([2 << 1, 9, 0]) + DRAIN0)
for name in ("hello", "ping", "data", "credit"):
    put("conn", "raw_" + name, OPEN + bytes([1 << 1, len(golden[name]), 3]) + golden[name])
put("conn", "pieces", OPEN + made(0, 0, 4, 0, b"call") + made(0, 0, 4, 0, b"more") + made(0, 0, 1, 0, b"last") + DRAIN0)
put("conn", "streams", OPEN + bytes([5 << 1, 1, 0, 5 << 1 | 1, 0, 1, 8 << 1 | 1, 1, 40]) + DRAIN1 +
    made(0, 2, 0, 1, b"x" * 80) + bytes([7 << 1, 1, 9]) + DRAIN0 + made(0, 2, 1, 1, b"end!"))
put("conn", "damage", OPEN + made(0, 0, 4, 0, b"call" * 8, 0x23) + made(0, 0, 1, 0, b"last"))
put("conn", "split_reply", OPEN + bytes([9 << 1, 120, 1]) + bytes([3 << 1, 20, 7]) + DRAIN0)
put("conn", "no_credit", OPEN + bytes([5 << 1, 1, 0]) + made(0, 2, 0, 1, b"y" * 600) + DRAIN0)

# what, which method, payload
SET = bytes.fromhex("06 08 81 10 10 81 06 0e 08 01 10 05 18 03 20 1b 2a 04 00 00 80 3f".replace(" ", ""))
put("rpc", "call", bytes([0, 0]) + golden["ping"][16:])
put("rpc", "reply", bytes([1, 0]) + golden["pong"][16:])
put("rpc", "status", bytes([1, 0]) + golden["unimplemented"][16:])
put("rpc", "ack", bytes([1, 0]) + bytes.fromhex("0508072090 4e 05 0807 10c025".replace(" ", "")))
put("rpc", "set", bytes([2, 0]) + SET)
put("rpc", "set_mac", bytes([2, 0, 0x17, 8, 1, 0x10, 0x81, 6, 0x32, 16]) + bytes(range(16)) + b"\x02\x08\x01")
put("rpc", "hello", bytes([3, 0]) + golden["hello"][16:])
lines = pathlib.Path("tests/golden/wire/messages.txt").read_text().splitlines()[1:]
for i, line in enumerate(lines):  # request and response of one method after the other, in the order of methods.def
    name, data = line.partition(" ")[::2]
    if len(data) > 8:
        put("rpc", name, bytes([3 + i % 2, i // 2]) + bytes.fromhex(data))
