"""Frames and checksums of the package, against the bytes in docs/WIRE_PROTOCOL.md and against damage."""
import os
import random
import re

import pytest
from peer import ROOT
from tunewire import errors, frames, schema

CRC32C_POLY = 0x11EDC6F41


def golden():
    with open(os.path.join(ROOT, "docs", "WIRE_PROTOCOL.md")) as f:
        block = re.search(r"```golden\n(.*?)```", f.read(), re.S)[1]
    rows = [line.split(None, 1) for line in block.splitlines()]
    return {name: bytes.fromhex(text) for name, text in rows if name != "ping-cobs"}


GOLDEN = golden()


def read(reader, data, step=None):
    out = []
    for at in range(0, len(data), step or max(1, len(data))):
        reader.feed(data[at:at + (step or len(data))])
        for frame in iter(reader.next, None):
            out.append(frame)
    return out


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_frames_are_read_and_written_to_the_same_bytes(name):
    (kind, stream, flags, payload), = read(frames.Reader(), GOLDEN[name])
    assert frames.pack(kind, stream, flags, payload) == GOLDEN[name]


def test_golden_messages_say_what_the_page_says():
    hello = schema.hello_reply(GOLDEN["hello-reply"][16:])
    assert (hello.major, hello.max_frame, hello.window, hello.schema_crc) == (1, 1024, 4096, 0x01020304)
    assert (hello.server, hello.boot_id, hello.max_calls) == ("lab", 9, 8)
    assert hello.session == bytes(range(0x10, 0x20)) and hello.nonce == bytes(range(0x20, 0x30))
    assert schema.hello_request(1024, 4096, 0, "tw") == GOLDEN["hello"][16:]
    head, body = schema.split_pair(GOLDEN["set-refused"][16:])
    status = schema.status(schema.fields(head).raw(2))
    assert (status.code, status.detail, status.where, status.text, body) == (11, 114, 3, "parameter out of range", b"")


@pytest.mark.parametrize("step", [1, 2, 15, 17, 64])
def test_any_packet_edges_give_the_same_frames(step):
    stream = b"".join(GOLDEN.values())
    assert read(frames.Reader(), stream, step) == read(frames.Reader(), stream)
    assert len(read(frames.Reader(), stream)) == len(GOLDEN)


@pytest.mark.parametrize("name", ["set", "credit", "stream-end"])
def test_a_frame_cut_at_any_byte_is_never_a_frame_and_the_rest_completes_it(name):
    whole = GOLDEN[name]
    for n in range(len(whole)):
        reader = frames.Reader()
        assert read(reader, whole[:n]) == [] and reader.damage == 0
        assert len(read(reader, whole[n:])) == 1


def test_every_single_bit_error_is_seen_and_the_next_frame_still_comes():
    bad, good = GOLDEN["set"], GOLDEN["ping"]
    for bit in range(len(bad) * 8):
        damaged = bytearray(bad)
        damaged[bit // 8] ^= 1 << bit % 8
        reader = frames.Reader()
        # A length that grew takes following bytes for its own only if the header CRC holds, which it does not.
        got = [f for f in read(reader, bytes(damaged) + good) if f[3] is not None]
        assert [f[3] for f in got] == [good[16:]], f"bit {bit}"
        assert reader.damage > 0


def test_noise_between_frames_costs_nothing_but_itself():
    rng = random.Random(4)
    for _ in range(200):
        reader = frames.Reader()
        noise = bytes(rng.choice((0xA5, rng.randrange(256))) for _ in range(rng.randrange(1, 80)))
        got = read(reader, noise + GOLDEN["ping"] + GOLDEN["credit"] * 4, rng.choice((1, 7, None)))
        assert [f[0] for f in got if f[3] is not None][-3:] == [frames.CREDIT] * 3


@pytest.mark.parametrize("why, at, value", [
    ("another version", 1, 2), ("a reserved flag", 3, 0x08), ("longer than agreed", 10, 0x02)])
def test_fatal_headers_raise(why, at, value):
    head = bytearray(GOLDEN["credit"][:16])
    head[at] = value
    head[6:8] = frames.crc16(head[0:6] + head[8:16]).to_bytes(2, "little")
    with pytest.raises(errors.ProtocolError):
        read(frames.Reader(), bytes(head))


def test_checksums_have_their_check_values():
    assert frames.crc16(b"123456789") == 0x29B1
    assert frames.crc32c(b"123456789") == frames.crc32c_pure(b"123456789") == 0xE3069283


def test_folds_are_what_they_claim_to_be():
    power, reached = 1, {}
    for bits in range(1, max(f[0] for f in frames.FOLDS) + 1):
        power <<= 1
        if power >> 32:
            power ^= CRC32C_POLY
        reached[bits] = power if any(bits == f[0] for f in frames.FOLDS) else None
    for bits, terms in frames.FOLDS:
        assert reached[bits] == sum(1 << t for t in terms), bits


def test_the_fast_checksum_equals_the_plain_one_at_every_kind_of_length():
    rng = random.Random(1)
    sizes = [*range(0, 300), 4095, 4096, 65528, (1 << 19) - 1, 1 << 19, (1 << 19) + 1, 700001]
    for n in sizes:
        data = rng.randbytes(n)
        start = rng.choice((0, 0xFFFFFFFF, rng.getrandbits(32)))
        assert frames.crc32c_pure(data, start) == frames._bytewise(data, start ^ 0xFFFFFFFF) ^ 0xFFFFFFFF, n
    assert frames.crc32c_pure(b"6789", frames.crc32c_pure(b"12345")) == 0xE3069283
