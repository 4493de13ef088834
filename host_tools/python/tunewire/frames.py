"""Frames: 16-byte header, payload, CRC-16 and CRC-32C (docs/WIRE_PROTOCOL.md "Frame")."""
import struct

from .errors import ProtocolError

SYNC, VERSION, HEADER = 0xA5, 1, 16
CALL, REPLY, DATA, CREDIT, CANCEL, HELLO, GOAWAY = range(7)
FIN, ERR, MORE = 1, 2, 4


def _table(poly, width, reflected):
    out = []
    for n in range(256):
        c = n if reflected else n << (width - 8)
        for _ in range(8):
            if reflected:
                c = (c >> 1) ^ poly if c & 1 else c >> 1
            else:
                c = ((c << 1) ^ poly if c >> (width - 1) else c << 1) & ((1 << width) - 1)
        out.append(c)
    return out


_T16 = _table(0x1021, 16, False)
_T32 = _table(0x82F63B78, 32, True)


def crc16(data, crc=0xFFFF):
    for b in data:
        crc = ((crc << 8) & 0xFFFF) ^ _T16[(crc >> 8) ^ b]
    return crc


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    table = _T32
    for b in data:
        crc = (crc >> 8) ^ table[(crc ^ b) & 0xFF]
    return crc ^ 0xFFFFFFFF


try:  # a compiled implementation, when the machine has one, makes large uploads quick
    import google_crc32c as _native

    def crc32c(data, crc=0):  # noqa: F811
        return _native.extend(crc, bytes(data))
except ImportError:
    pass


def pack(kind, stream, flags, payload):
    a = struct.pack("<BBBBH", SYNC, VERSION, kind, flags, stream)
    b = struct.pack("<II", len(payload), crc32c(payload) if payload else 0)
    return a + struct.pack("<H", crc16(a + b)) + b + payload


class Reader:
    """Bytes in, frames (kind, stream, flags, payload) out; resynchronises after damage."""

    def __init__(self):
        self.buf = bytearray()
        self.max_frame = 1 << 20
        self.skipped = 0

    def feed(self, data):
        self.buf += data

    def next(self):
        """The next whole frame, or None when more bytes are needed."""
        buf = self.buf
        while len(buf) >= HEADER:
            if buf[0] != SYNC or crc16(buf[0:6] + buf[8:16]) != struct.unpack_from("<H", buf, 6)[0]:
                at = buf.find(SYNC, 1)
                drop = at if at > 0 else len(buf)
                self.skipped += drop
                del buf[:drop]
                continue
            _, version, kind, flags, stream, _, size, crc = struct.unpack_from("<BBBBHHII", buf)
            if version != VERSION:
                raise ProtocolError(f"frame version {version}: this client speaks {VERSION}")
            if size + HEADER > self.max_frame:
                raise ProtocolError(f"frame of {size} bytes is longer than negotiated")
            if len(buf) < HEADER + size:
                return None
            payload = bytes(buf[HEADER:HEADER + size])
            del buf[:HEADER + size]
            if size and crc32c(payload) != crc:
                self.skipped += size
                continue
            return kind, stream, flags, payload
        return None
