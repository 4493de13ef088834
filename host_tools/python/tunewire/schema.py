"""Message classes from the device's own schema, and the little that is needed to ask for it."""
import os
import tempfile
from types import SimpleNamespace

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .errors import ProtocolError
from .frames import crc32c


def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """One protobuf field: int as varint, bytes/str length-delimited; zero and empty are left out."""
    if not value:
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(data)) + data


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtocolError("message ends inside a number")
        b = data[at]
        value |= (b & 127) << shift
        at, shift = at + 1, shift + 7
        if b < 128:
            return value, at


def fields(data):
    """{number: last value} of a flat message; enough for hello, headers and status."""
    out, at = {}, 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 2:
            n, at = read_varint(data, at)
            value, at = data[at:at + n], at + n
        elif kind in (1, 5):
            n = 8 if kind == 1 else 4
            value, at = int.from_bytes(data[at:at + n], "little"), at + n
        else:
            raise ProtocolError("message of an unknown wire type")
        if at > len(data):
            raise ProtocolError("message ends inside a field")
        out[key >> 3] = value
    return out


def hello_request(max_frame, window, max_calls, name, resume=b""):
    return (field(1, 1) + field(3, max_frame) + field(4, window) + field(5, name) + field(6, resume)
            + field(7, max_calls))


def hello_reply(data):
    f = fields(data)
    return SimpleNamespace(
        major=f.get(1, 0), minor=f.get(2, 0), max_frame=f.get(3, 0), window=f.get(4, 0), features=f.get(5, 0),
        schema_crc=f.get(6, 0), session=f.get(7, b""), nonce=f.get(8, b""), auth_required=bool(f.get(9, 0)),
        server=f.get(10, b"").decode("utf-8", "replace"), build=f.get(11, b"").decode("utf-8", "replace"),
        boot_id=f.get(12, 0), max_calls=f.get(13, 4))


def status(data):
    f = fields(data)
    return SimpleNamespace(code=f.get(1, 0), detail=f.get(2, 0), where=f.get(3, 0),
                           text=f.get(4, b"").decode("utf-8", "replace"))


def split_pair(payload):
    """The two length-delimited halves of a call or reply payload."""
    n, at = read_varint(payload, 0)
    head, at = payload[at:at + n], at + n
    if at >= len(payload):
        return head, b""
    n, at = read_varint(payload, at)
    return head, payload[at:at + n]


class Schema:
    """Classes and methods of one FileDescriptorSet."""

    def __init__(self, blob):
        files = descriptor_pb2.FileDescriptorSet.FromString(blob)
        pool = descriptor_pool.DescriptorPool()
        for f in files.file:
            pool.Add(f)
        self.package = files.file[-1].package
        self._pool = pool
        self._classes = {}
        self.methods = {}  # "Param.Set" -> (id, request class, response class, streaming)
        for number, service in enumerate(files.file[-1].service, 1):
            for position, m in enumerate(service.method, 1):
                self.methods[f"{service.name}.{m.name}"] = (
                    number << 8 | position, m.input_type.lstrip("."), m.output_type.lstrip("."), m.server_streaming)

    def __getattr__(self, name):
        """Message class by its short name: schema.ParamSet."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self.cls(f"{self.package}.{name}")

    def cls(self, full_name):
        if full_name not in self._classes:
            try:
                descriptor = self._pool.FindMessageTypeByName(full_name)
            except KeyError:
                raise AttributeError(f"the device's schema has no message {full_name}") from None
            if hasattr(message_factory, "GetMessageClass"):
                made = message_factory.GetMessageClass(descriptor)
            else:  # protobuf before 4.22
                made = message_factory.MessageFactory(self._pool).GetPrototype(descriptor)
            self._classes[full_name] = made
        return self._classes[full_name]


def _cache_path(crc):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tunewire", f"schema-{crc:08x}.bin")


def cached(crc):
    """The schema with this CRC if an earlier connection kept it, else None."""
    try:
        with open(_cache_path(crc), "rb") as f:
            blob = f.read()
    except OSError:
        return None
    return blob if crc32c(blob) == crc else None


def keep(crc, blob):
    path = _cache_path(crc)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd, temp = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(fd, "wb") as f:
            f.write(blob)
        os.replace(temp, path)
    except OSError:
        pass  # a cache that cannot be written only costs the next connection 15 KB
