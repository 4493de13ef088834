"""One connection: hello, calls, streams, credits. Synchronous; no threads."""
import hashlib
import hmac
import os
import select
import socket
import struct
import time
from collections import deque
from urllib.parse import urlsplit

from . import errors, frames, schema

DEFAULT_PORT = 5600
SCHEMA_METHOD = 0x0106


class Stream:
    """Frames the device sends on one stream, in order."""

    def __init__(self, conn, number):
        self.conn, self.number = conn, number
        self.items = deque()
        self.done = False
        self.error = None

    def next(self, timeout):
        """Payload of the next frame, or None when the stream has ended."""
        end = time.monotonic() + timeout
        while not self.items:
            if self.error:
                raise self.error
            if self.done:
                return None
            self.conn.pump(end)
        data = self.items.popleft()
        self.conn.grant(self.number, len(data))
        return data


class Connection:
    def __init__(self, uri, key=None, key_id="", role=2, timeout=5.0):
        self.timeout = timeout
        self.call_id = 0
        self.replies = {}
        self.parts = {}
        self.streams = {}
        self.credit = {}
        self.next_stream = 1
        self.call_key = None
        self.reader = frames.Reader()
        self.hello = None
        self.sock = self._open(uri)
        try:
            self._hello()
            self.schema = None
            if self.hello.auth_required or key is not None:
                if key is None:
                    raise errors.Unauthenticated(16, 0, 0, f"{uri} wants a key: connect(..., key='ID:HEX')", "connect")
                self._auth(key, key_id, role)
            self.schema = self._schema()
        except BaseException:
            self.sock.close()
            raise

    @staticmethod
    def _address(uri):
        parts = urlsplit(uri if "//" in uri else "tcp://" + uri)
        if parts.scheme != "tcp" or not parts.hostname:
            raise ValueError(f"{uri}: expected tcp://HOST[:PORT]")
        return parts.hostname, parts.port or DEFAULT_PORT

    def _open(self, uri):
        host, port = self._address(uri)
        try:
            sock = socket.create_connection((host, port), timeout=self.timeout)
        except OSError as e:
            raise errors.ConnectionLost(f"{uri}: {e.strerror or e}; is tunewired running there?") from None
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def close(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    # ---- frames ------------------------------------------------------------
    def send(self, kind, stream, flags, payload):
        if self.sock is None:
            raise errors.ConnectionLost("the connection is closed")
        limit = self.hello.max_frame - frames.HEADER if self.hello else 240
        out = bytearray()
        while len(payload) > limit:
            out += frames.pack(kind, stream, frames.MORE, payload[:limit])
            payload = payload[limit:]
        out += frames.pack(kind, stream, flags, payload)
        try:
            self.sock.sendall(out)
        except OSError as e:
            raise errors.ConnectionLost(f"sending failed: {e}") from None

    def pump(self, deadline):
        """Handle at least one frame or raise ConnectionLost at the deadline (monotonic seconds)."""
        while True:
            frame = self.reader.next()
            if frame is not None:
                self._handle(*frame)
                return
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                raise errors.ConnectionLost("no answer in time")
            try:
                data = self.sock.recv(1 << 18)
            except OSError as e:
                raise errors.ConnectionLost(f"receiving failed: {e}") from None
            if not data:
                raise errors.ConnectionLost("the device closed the connection")
            self.reader.feed(data)

    def _handle(self, kind, stream, flags, payload):
        if kind in (frames.REPLY, frames.DATA) and (flags & frames.MORE or (kind, stream) in self.parts):
            whole = self.parts.pop((kind, stream), b"") + payload
            if flags & frames.MORE:
                self.parts[kind, stream] = whole
                return
            payload = whole
        if kind == frames.REPLY:
            head, body = schema.split_pair(payload)
            f = schema.fields(head)
            self.replies[f.get(1, 0)] = (schema.status(f.get(2, b"")), f.get(3, 0), body)
            if f.get(3, 0) and not f.get(3, 0) & 1:
                self.streams.setdefault(f[3], Stream(self, f[3]))
        elif kind == frames.DATA:
            s = self.streams.setdefault(stream, Stream(self, stream))
            if flags & frames.ERR:
                s.error = errors.from_status(schema.status(payload), "stream")
            elif payload:
                s.items.append(payload)
            s.done = s.done or bool(flags & frames.FIN)
        elif kind == frames.CREDIT and len(payload) == 4:
            self.credit[stream] = self.credit.get(stream, 0) + struct.unpack("<I", payload)[0]
        elif kind == frames.GOAWAY:
            raise errors.from_status(schema.status(payload), "connection closed by the device")
        elif kind == frames.HELLO:
            self.hello = schema.hello_reply(payload)

    def grant(self, stream, n):
        if not self.streams[stream].done:
            self.send(frames.CREDIT, stream, 0, struct.pack("<I", n))

    # ---- hello, auth, schema -------------------------------------------------
    def _hello(self):
        self.send(frames.HELLO, 0, frames.FIN, schema.hello_request(65536, 1 << 20, 64, "tunewire-python"))
        end = time.monotonic() + self.timeout
        while self.hello is None:
            self.pump(end)
        if self.hello.major != 1:
            raise errors.ProtocolError(f"the device speaks version {self.hello.major}, this client 1")
        self.reader.max_frame = self.hello.max_frame

    def _auth(self, key, key_id, role):
        nonce_c, nonce_s, r = os.urandom(16), self.hello.nonce, bytes([role])

        def mac(tag, *parts):
            return hmac.new(key, tag + b"".join(parts), hashlib.sha256).digest()
        body = (schema.field(1, key_id) + schema.field(2, nonce_c)
                + schema.field(3, mac(b"auth", nonce_s, nonce_c, r)) + schema.field(4, role))
        reply = schema.fields(self.call_raw(0x0102, body, "Session.Auth")[0])
        if not hmac.compare_digest(reply.get(2, b""), mac(b"serv", nonce_c, nonce_s, r)):
            raise errors.ProtocolError("the device does not know the key: not the device it claims to be")
        self.call_key = mac(b"call", nonce_s, nonce_c, r)

    def _schema(self):
        blob = schema.cached(self.hello.schema_crc)
        if blob is None:
            _, stream = self.call_raw(SCHEMA_METHOD, b"", "Session.Schema")
            blob = self.read_all(stream)
            if frames.crc32c(blob) != self.hello.schema_crc:
                raise errors.ProtocolError("the schema does not match the checksum of the hello")
            schema.keep(self.hello.schema_crc, blob)
        return schema.Schema(blob)

    # ---- calls -----------------------------------------------------------------
    def start(self, method, body, txn=0, stream=0, deadline_ms=0):
        """Send a call without waiting; returns its id for finish()."""
        self.call_id += 1
        head = (schema.field(1, self.call_id) + schema.field(2, method) + schema.field(3, deadline_ms)
                + schema.field(4, txn) + schema.field(5, stream))
        if self.call_key is not None:
            text = struct.pack("<IIIII", self.call_id, method, deadline_ms, txn, stream) + body
            head += schema.field(6, hmac.new(self.call_key, text, hashlib.sha256).digest()[:16])
        payload = schema.varint(len(head)) + head + schema.varint(len(body)) + body
        self.send(frames.CALL, 0, frames.FIN, payload)
        return self.call_id

    def finish(self, call_id, name, timeout=None):
        """(response bytes, stream or None) of a started call, or its error."""
        end = time.monotonic() + (timeout or self.timeout)
        while call_id not in self.replies:
            self.pump(end)
        status, stream, body = self.replies.pop(call_id)
        if status.code:
            self.streams.pop(stream, None)
            error = errors.from_status(status, name)
            error.response = body  # only Txn.Commit has one: what became of the transaction
            raise error
        return body, self.streams.get(stream)

    def call_raw(self, method, body, name, **kw):
        timeout = kw.pop("timeout", None)
        return self.finish(self.start(method, body, **kw), name, timeout)

    def call(self, name, request=None, timeout=None, **kw):
        """Call "Service.Method" with a message or its fields; returns the response message (or Stream)."""
        number, req, rep, streaming = self.schema.methods[name]
        body = b"" if request is None else request.SerializeToString()
        data, stream = self.call_raw(number, body, name, timeout=timeout, **kw)
        if streaming:
            return stream
        message = self.schema.cls(rep)()
        message.ParseFromString(data)
        return message

    def read_all(self, stream, timeout=None):
        """All bytes of a byte stream; offsets are checked."""
        out = bytearray()
        while True:
            data = stream.next(timeout or self.timeout)
            if data is None:
                self.streams.pop(stream.number, None)
                return bytes(out)
            if len(data) < 8 or struct.unpack_from("<Q", data)[0] != len(out):
                raise errors.ProtocolError("stream bytes are missing or out of order")
            out += data[8:]

    def write_stream(self, stream, data, offset=0, chunk=None, progress=None, timeout=None):
        """Send data on a stream as credit allows; offset is the position of data[0]."""
        room = min(chunk or 1 << 30, self.hello.max_frame - frames.HEADER - 8)
        at = 0
        end = time.monotonic() + (timeout or self.timeout)
        while at < len(data):
            refused = self.streams.get(stream)
            if refused is not None and refused.error:
                del self.streams[stream]
                raise refused.error
            n = min(room, len(data) - at, self.credit.get(stream, 0) - 8)
            if n <= 0:
                self.pump(end)
                continue
            self.credit[stream] -= n + 8
            last = at + n == len(data)
            self.send(frames.DATA, stream, frames.FIN if last else 0,
                      struct.pack("<Q", offset + at) + data[at:at + n])
            at += n
            end = time.monotonic() + (timeout or self.timeout)
            if progress:
                progress(at, len(data))

    def open_stream(self):
        """A new stream of ours; it starts with the negotiated window as credit."""
        number, self.next_stream = self.next_stream, self.next_stream + 2
        self.credit[number] = self.hello.window
        return number
