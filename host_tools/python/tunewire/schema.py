"""Message classes from the device's own schema, and the little that is needed to ask for it."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict, NamedTuple, Tuple, Union

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from .errors import ProtocolError, UnknownName

Value = Union[int, bytes]


def varint(n: int) -> bytes:
    """A protobuf varint."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number: int, value: Union[int, str, bytes]) -> bytes:
    """One protobuf field: int as varint, bytes/str length-delimited; zero and empty are left out."""
    if not value:
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(data)) + data


def read_varint(data: bytes, at: int) -> Tuple[int, int]:
    """(number, position after it)."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtocolError("message ends inside a number")
        b = data[at]
        value |= (b & 127) << shift
        at, shift = at + 1, shift + 7
        if b < 128:
            return value, at


def take(data: bytes, at: int) -> Tuple[bytes, int]:
    """(length-delimited bytes, position after them)."""
    n, at = read_varint(data, at)
    if n > len(data) - at:
        raise ProtocolError("message ends inside a field")
    return data[at:at + n], at + n


class Fields(Dict[int, Value]):
    """Fields of a flat message by number; the accessors refuse a value of the wrong kind."""

    def num(self, number: int) -> int:
        """A number; absent is 0."""
        value = self.get(number, 0)
        if not isinstance(value, int):
            raise ProtocolError(f"field {number} is not a number")
        return value

    def raw(self, number: int) -> bytes:
        """Bytes; absent is empty."""
        value = self.get(number, b"")
        if not isinstance(value, bytes):
            raise ProtocolError(f"field {number} is not bytes")
        return value

    def text(self, number: int) -> str:
        """UTF-8; what is not becomes a replacement character."""
        return self.raw(number).decode("utf-8", "replace")


def fields(data: bytes) -> Fields:
    """{number: last value} of a flat message; enough for hello, headers and status."""
    out, at = Fields(), 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            out[key >> 3], at = read_varint(data, at)
        elif kind == 2:
            out[key >> 3], at = take(data, at)
        elif kind in (1, 5):
            n = 8 if kind == 1 else 4
            out[key >> 3], at = int.from_bytes(data[at:at + n], "little"), at + n
        else:
            raise ProtocolError("message of an unknown wire type")
    if at > len(data):
        raise ProtocolError("message ends inside a field")
    return out


def hello_request(max_frame: int, window: int, max_calls: int, name: str, resume: bytes = b"") -> bytes:
    """HelloReq of schema 1.0."""
    return (field(1, 1) + field(3, max_frame) + field(4, window) + field(5, name) + field(6, resume)
            + field(7, max_calls))


def hello_reply(data: bytes) -> SimpleNamespace:
    """HelloRep."""
    f = fields(data)
    return SimpleNamespace(
        major=f.num(1), minor=f.num(2), max_frame=f.num(3), window=f.num(4), features=f.num(5), schema_crc=f.num(6),
        session=f.raw(7), nonce=f.raw(8), auth_required=bool(f.num(9)), server=f.text(10), build=f.text(11),
        boot_id=f.num(12), max_calls=f.num(13))


def status(data: bytes) -> SimpleNamespace:
    """Status; absent is OK."""
    f = fields(data)
    return SimpleNamespace(code=f.num(1), detail=f.num(2), where=f.num(3), text=f.text(4))


def split_pair(payload: bytes) -> Tuple[bytes, bytes]:
    """The two length-delimited halves of a call or reply payload; they cover it exactly."""
    head, at = take(payload, 0)
    body, at = take(payload, at)
    if at != len(payload):
        raise ProtocolError("bytes after a message")
    return head, body


def parse(message: Any, data: bytes) -> Any:
    """`message` filled from its encoding."""
    try:
        message.ParseFromString(data)
    except (DecodeError, ValueError) as e:
        raise ProtocolError(f"{message.DESCRIPTOR.name} does not decode: {e}") from None
    return message


class Method(NamedTuple):
    """A row of the method table."""
    number: int
    response: str  # full name of its message
    streaming: bool


class Schema:
    """Message classes and methods of one serialized FileDescriptorSet."""

    def __init__(self, blob: bytes) -> None:
        self._classes: Dict[str, Any] = {}
        self._pool = descriptor_pool.DescriptorPool()
        self.methods: Dict[str, Method] = {}  # by "Param.Set"
        try:
            files = descriptor_pb2.FileDescriptorSet.FromString(blob).file
            for f in files:
                self._pool.Add(f)
                self._pool.FindFileByName(f.name)  # protobuf in pure Python looks into it only now
            self.package = files[-1].package
            for number, service in enumerate(files[-1].service, 1):
                for position, m in enumerate(service.method, 1):
                    self.methods[f"{service.name}.{m.name}"] = Method(
                        number << 8 | position, m.output_type.lstrip("."), m.server_streaming)
                    self._pool.FindMessageTypeByName(m.output_type.lstrip("."))
        except (DecodeError, TypeError, KeyError, ValueError, IndexError) as e:
            raise ProtocolError(f"the device's schema is not usable: {e}") from None

    def __getattr__(self, name: str) -> Any:
        """Message class by its short name: schema.ParamSet."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self.cls(f"{self.package}.{name}")

    def method(self, name: str) -> Method:
        """The row of "Service.Method"."""
        if name not in self.methods:
            raise UnknownName(f"the device's schema has no method {name}")
        return self.methods[name]

    def cls(self, full_name: str) -> Any:
        """Message class by its full name."""
        if full_name not in self._classes:
            try:
                descriptor = self._pool.FindMessageTypeByName(full_name)
            except KeyError:
                raise UnknownName(f"the device's schema has no message {full_name}") from None
            if hasattr(message_factory, "GetMessageClass"):
                made = message_factory.GetMessageClass(descriptor)
            else:  # protobuf before 4.22
                made = message_factory.MessageFactory(self._pool).GetPrototype(descriptor)
            self._classes[full_name] = made
        return self._classes[full_name]
