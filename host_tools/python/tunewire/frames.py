"""Frames: 16-byte header, payload, CRC-16 and CRC-32C (docs/WIRE_PROTOCOL.md "Frame")."""
from __future__ import annotations

import binascii
import struct
from typing import Callable, Optional, Tuple, Union

from .errors import ProtocolError

SYNC, VERSION, HEADER, FRAME_MIN, FRAME_MAX = 0xA5, 1, 16, 256, 65536
CALL, REPLY, DATA, CREDIT, CANCEL, HELLO, GOAWAY = range(7)
FIN, ERR, MORE = 1, 2, 4
_HEADER = struct.Struct("<BBBBHHII")
# One frame: kind, stream, flags, payload; None instead of a payload that arrived damaged.
Frame = Tuple[int, int, int, Optional[bytes]]


def _byte_row(n: int) -> int:
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    return n


_TABLE = [_byte_row(n) for n in range(256)]
# x^bits mod the polynomial of CRC-32C, as the exponents it consists of. These lengths were searched
# for because so few terms remain; each term costs one shift of a large integer (`_fold`).
FOLDS = ((2258224, (1, 8, 9, 16, 18)), (1176808, (4, 10, 11, 21, 23)), (529096, (5, 15, 17, 23, 27)),
         (343952, (6, 13, 16, 19, 27)), (132360, (1, 2, 7, 14, 23, 24, 29)), (73448, (4, 7, 24, 29, 31)),
         (32912, (2, 6, 7, 10, 20, 30, 31)), (13664, (0, 3, 4, 18, 22, 25, 29)), (7368, (5, 14, 21, 25, 26, 27, 30)),
         (2320, (7, 10, 13, 15, 17, 22, 23, 25, 28)), (888, (1, 8, 11, 13, 14, 24, 26, 28, 30)))
_PIECE = 1 << 19  # bytes folded at once: twice the longest length above


def _bytewise(data: bytes, crc: int) -> int:
    table = _TABLE
    for b in data:
        crc = crc >> 8 ^ table[(crc ^ b) & 0xFF]
    return crc


def _fold(data: bytes, crc: int) -> bytes:
    """A short message with the CRC (from 0) that `data` has from `crc`.

    The message is a polynomial whose highest power comes first: bit i of the little-endian integer
    stands for x^(size - 1 - i). Its first part times x^bits is replaced by its product with the few
    terms of x^bits mod P, so the work is done by the shifts and xors of Python's integers.
    """
    size, message = len(data) * 8, int.from_bytes(data, "little") ^ crc
    for bits, terms in FOLDS:
        while size > bits + 64:
            first = size - bits
            head, size_now = message & ((1 << first) - 1), max(bits, first + 32)
            message = message >> first << (size_now - bits)
            for term in terms:
                message ^= head << (size_now - first - term)
            size = size_now
    return message.to_bytes(size // 8, "little")


def crc32c_pure(data: bytes, crc: int = 0) -> int:
    """CRC-32C of `data` going on from `crc`, with nothing but the standard library."""
    crc ^= 0xFFFFFFFF
    for at in range(0, len(data), _PIECE):
        piece = data[at:at + _PIECE]
        crc = _bytewise(piece, crc) if len(piece) < 128 else _bytewise(_fold(piece, crc), 0)
    return crc ^ 0xFFFFFFFF


def _choose_crc32c() -> Callable[..., int]:
    """A compiled implementation when the machine has one: python3-crc32c (Debian) or google-crc32c (PyPI)."""
    try:
        import crc32c as debian
        return debian.crc32c
    except (ImportError, AttributeError):
        pass
    try:
        import google_crc32c
        return lambda data, crc=0: google_crc32c.extend(crc, bytes(data))
    except ImportError:
        return crc32c_pure


crc32c = _choose_crc32c()


def crc16(data: Union[bytes, bytearray]) -> int:
    """CRC-16 of a header; the standard library happens to have this very polynomial."""
    return binascii.crc_hqx(data, 0xFFFF)


def pack(kind: int, stream: int, flags: int, payload: bytes) -> bytes:
    """One whole frame."""
    a = struct.pack("<BBBBH", SYNC, VERSION, kind, flags, stream)
    b = struct.pack("<II", len(payload), crc32c(payload) if payload else 0)
    return a + struct.pack("<H", crc16(a + b)) + b + payload


class Reader:
    """Bytes in, frames out; goes on after damage and counts it, refuses what is fatal.

    Holds at most one unfinished frame and what one `feed` brought.
    """

    def __init__(self, max_frame: int = FRAME_MAX) -> None:
        self.buf = bytearray()
        self.max_frame = max_frame
        self.damage = 0  # bytes skipped and frames dropped so far

    def feed(self, data: bytes) -> None:
        """Bytes as they arrived, cut anywhere."""
        self.buf += data

    def _skip(self) -> None:
        at = self.buf.find(SYNC, 1)
        drop = at if at > 0 else len(self.buf)
        self.damage += drop
        del self.buf[:drop]

    def _check(self, version: int, flags: int, size: int) -> None:
        if version != VERSION:
            raise ProtocolError(f"frame version {version}: this client speaks {VERSION}")
        if flags & ~(FIN | ERR | MORE):
            raise ProtocolError(f"reserved frame flags 0x{flags:02x}")
        if size + HEADER > self.max_frame:
            raise ProtocolError(f"frame of {size} bytes, at most {self.max_frame - HEADER} were agreed")

    def next(self) -> Optional[Frame]:
        """The next frame, or None when more bytes are needed."""
        buf = self.buf
        while buf and (buf[0] != SYNC or len(buf) >= HEADER):
            if buf[0] != SYNC or crc16(buf[0:6] + buf[8:16]) != buf[6] | buf[7] << 8:
                self._skip()
                continue
            _, version, kind, flags, stream, _, size, crc = _HEADER.unpack_from(buf)
            self._check(version, flags, size)
            if len(buf) < HEADER + size:
                return None
            payload: Optional[bytes] = bytes(buf[HEADER:HEADER + size])
            del buf[:HEADER + size]
            if (crc32c(payload) if size else 0) != crc:
                self.damage, payload = self.damage + 1, None
            return kind, stream, flags, payload
        return None
