"""One connection: hello, calls, streams, credits, resuming after a loss. No threads, no locks.

Whatever the peer sends, what is kept is bounded: one frame, one message of MESSAGE_MAX bytes per open
stream, and per stream the window that was granted. Replies nobody waits for and data of streams that are
not open are dropped. What the protocol calls fatal closes the socket and raises.
"""
from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import socket
import struct
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from . import frames, schema
from .errors import (ConnectionLost, DataLoss, DeviceError, ProtocolError, ResourceExhausted, Timeout, TunewireError,
                     Unauthenticated, from_status)

DEFAULT_PORT = 5600
WINDOW, MAX_CALLS = 1 << 20, 64
MESSAGE_MAX = 1 << 20  # a reply or stream message put together from pieces
BYTES_MAX = 1 << 26    # a whole byte stream
GOODBYE_TIMEOUT = 13   # goaway: we did not read in time; coming back is welcome


class Stream:
    """What the device sends on one stream, in order. `items` never exceeds the window."""

    def __init__(self, conn: Connection, number: int, call_id: int, resumable: bool) -> None:
        self.conn, self.number, self.call_id, self.resumable = conn, number, call_id, resumable
        self.items: Deque[bytes] = deque()
        self.done = False
        self.error: Optional[TunewireError] = None
        self.reset()

    def reset(self) -> None:
        """As the device sees a stream that was just opened: the whole window is granted."""
        self.room = self.conn.hello.window
        self.owed = -sum(map(len, self.items))  # consumed bytes not granted yet; kept items count when taken

    def put(self, payload: bytes, flags: int) -> None:
        """A whole message or piece has arrived."""
        if flags & frames.ERR:
            self.error = from_status(schema.status(payload), "stream")
        elif payload:
            self.items.append(payload)
        self.done = self.done or bool(flags & frames.FIN)

    def next(self, end: float) -> Optional[bytes]:
        """Payload of the next message, or None when the stream has ended. `end`: monotonic seconds."""
        while not self.items:
            if self.error:
                raise self.error
            if self.done:
                return None
            self.grant(0)
            self.conn.pump(end)
        data = self.items.popleft()
        self.owed += len(data)
        self.grant(self.conn.hello.window // 4)
        return data

    def grant(self, least: int) -> None:
        """Give credit for what was consumed when it is more than `least` bytes."""
        if self.owed > least and not self.done:
            n, self.owed = self.owed, 0
            self.room += n
            with contextlib.suppress(ConnectionLost):  # reading on finds out, and what is there already comes first
                self.conn.send(frames.CREDIT, self.number, 0, struct.pack("<I", n))


class Call(NamedTuple):
    """A call without an answer, with all it takes to send it again."""
    name: str
    method: schema.Method
    body: bytes
    txn: int
    stream: int
    deadline_ms: int


class Reply(NamedTuple):
    """An answer; `status.code` is 0 for success."""
    status: Any
    stream: int
    body: bytes


class Connection:
    """See the module. `retry_s`: how long to try to come back by itself when the connection is lost."""

    def __init__(self, uri: str, key: Optional[bytes] = None, key_id: str = "", role: int = 2, timeout: float = 5.0,
                 retry_s: float = 0.0) -> None:
        self.uri, self.timeout, self.retry_s = uri, timeout, retry_s
        self._address = _address(uri)
        self._key, self._key_id, self._role = key, key_id, role
        self.sock: Optional[socket.socket] = None
        self.alive = False  # sending is possible
        self.hello: Any = None
        self.schema: Any = None
        self._forget()
        self._dial()

    def _forget(self) -> None:
        self.call_id, self.next_stream = 0, 1
        self.calls: Dict[int, Call] = {}
        self.replies: Dict[int, Reply] = {}
        self.streams: Dict[int, Stream] = {}
        self.credit: Dict[int, int] = {}        # of our uploads
        self.refused: Dict[int, DeviceError] = {}  # uploads the device ended

    # ---- life ------------------------------------------------------------------
    def close(self) -> None:
        """Close the socket. May be called again."""
        self.alive = False
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def _dial(self, resume: bytes = b"") -> None:
        self.call_key: Optional[bytes] = None
        self.parts: Dict[Tuple[int, int], Optional[bytes]] = {}
        self.reader, self._ready = frames.Reader(frames.FRAME_MIN), False  # 256 until hello is done
        old, self.hello = self.hello, None
        try:
            self.sock = socket.create_connection(self._address, timeout=self.timeout)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.alive = True
        except OSError as e:
            self.hello = old
            raise ConnectionLost(f"{self.uri}: {e.strerror or e}; is tunewired running there?") from None
        try:
            self._hello(resume)
            if resume and self.hello.session != resume:
                self._lose_session()
            if self.hello.auth_required or self._key is not None:
                self._auth()
            if old is None or old.schema_crc != self.hello.schema_crc or self.schema is None:
                self._fetch_schema()
            self._ready = True
        except BaseException:
            self.hello = self.hello or old
            self.close()
            raise

    def _lose_session(self) -> None:
        for s in self.streams.values():
            s.error, s.done = ConnectionLost("the device no longer knows this session"), True
        self._forget()

    def reconnect(self) -> bool:
        """Connect again and resume. True: the session goes on (subscriptions too, unanswered calls are repeated
        under their ids and done once); False: the device did not know it any more, and handles are void."""
        self.close()
        token = self.hello.session
        for number, s in list(self.streams.items()):
            if not s.resumable and not s.done:
                s.error, s.done = ConnectionLost("the connection was lost in the middle of a stream"), True
                del self.streams[number]
        self.credit.clear()
        self._dial(token)
        if self.hello.session != token:
            return False
        for s in self.streams.values():
            s.reset()
        for number, call in sorted(self.calls.items()):
            self._send_call(number, call)
        return True

    def _last_words(self, error: ConnectionLost) -> ConnectionLost:
        """What the device sent before the connection went, above all why."""
        try:
            for _ in range(1000):
                self._handle(*self._frame(time.monotonic() + 0.05))
        except ConnectionLost as e:
            return e if e.__cause__ else error
        except TunewireError:
            pass
        return error

    def survive(self, error: ConnectionLost) -> None:
        """Come back when that was asked for and makes sense; else raise what happened."""
        error = self._last_words(error)
        self.close()
        cause = error.__cause__
        welcome = not isinstance(cause, DeviceError) or cause.code == 0 or cause.detail == GOODBYE_TIMEOUT
        end = time.monotonic() + self.retry_s
        while self._ready and welcome and time.monotonic() < end:
            waiting = dict(self.calls)
            try:
                if not self.reconnect() and waiting:
                    raise ConnectionLost(f"the device forgot the session during {waiting.popitem()[1].name}; "
                                         "whether it was done is unknown")
                return
            except (ConnectionLost, Timeout, ResourceExhausted):  # every place may be taken for a moment
                if self.sock is not None:
                    raise
                self._ready = True
                time.sleep(0.05)
        raise error

    # ---- frames ------------------------------------------------------------------
    def send(self, kind: int, stream: int, flags: int, payload: bytes) -> None:
        """One message, in as many frames as it takes."""
        limit = (self.hello.max_frame if self.hello else frames.FRAME_MIN) - frames.HEADER
        out = bytearray()
        while len(payload) > limit:
            out += frames.pack(kind, stream, frames.MORE, payload[:limit])
            payload = payload[limit:]
        self._write(out + frames.pack(kind, stream, flags, payload))

    def _write(self, data: bytearray) -> None:
        if self.sock is None:
            raise ConnectionLost("the connection is closed")
        try:
            self.sock.settimeout(self.timeout)
            self.sock.sendall(data)
        except OSError as e:
            self.alive = False
            with contextlib.suppress(OSError):  # a part may have gone out, so nothing may follow; reading goes on
                self.sock.shutdown(socket.SHUT_WR)
            raise ConnectionLost(f"sending failed: {e}") from None

    def pump(self, end: float) -> None:
        """Handle one frame; Timeout when none comes before `end` (monotonic seconds)."""
        try:
            frame = self._frame(end)
            self._handle(*frame)
        except ConnectionLost as e:
            self.survive(e)
        except ProtocolError:
            self.close()
            raise

    def _frame(self, end: float) -> frames.Frame:
        while True:
            damage = self.reader.damage
            frame = self.reader.next()
            if self.reader.damage != damage:
                self.parts = dict.fromkeys(self.parts)  # a hole in a message must not pass unseen
            if frame is not None:
                return frame
            self.reader.feed(self._recv(end))

    def _recv(self, end: float) -> bytes:
        left = end - time.monotonic()
        if self.sock is None:
            raise ConnectionLost("the connection is closed")
        if left <= 0:
            raise Timeout("no answer in time")
        try:
            self.sock.settimeout(left)
            data = self.sock.recv(1 << 18)
        except socket.timeout:
            raise Timeout("no answer in time") from None
        except OSError as e:
            raise ConnectionLost(f"receiving failed: {e}") from None
        if not data:
            raise ConnectionLost("the device closed the connection")
        return data

    def _handle(self, kind: int, stream: int, flags: int, payload: Optional[bytes]) -> None:
        if kind == frames.GOAWAY:
            why = from_status(schema.status(payload or b""), "goaway")
            if self.hello is None:
                raise why  # refused at the door: no connection there was is lost
            raise ConnectionLost(f"the device closed the connection: {why.text or why}") from why
        if self.hello is None and kind == frames.HELLO:
            self.hello = schema.hello_reply(payload) if payload is not None else None
        elif self.hello is None:
            raise ProtocolError("the device did not say hello first")
        elif kind == frames.HELLO:
            raise ProtocolError("a second hello")
        elif kind == frames.REPLY and stream == 0:
            whole = self._join(kind, stream, flags, payload)
            if whole is not None:
                self._on_reply(whole)
        elif kind == frames.DATA:
            self._on_data(stream, flags, payload)
        elif kind == frames.CREDIT and stream in self.credit and payload is not None and len(payload) == 4:
            self.credit[stream] += struct.unpack("<I", payload)[0]

    def _join(self, kind: int, stream: int, flags: int, payload: Optional[bytes]) -> Optional[bytes]:
        """The whole message once its last piece is here; None before, and for a message with a damaged piece."""
        key, more = (kind, stream), flags & frames.MORE
        if not more and key not in self.parts:
            return payload
        before = self.parts.pop(key, b"")
        whole = None if before is None or payload is None else before + payload
        if whole is not None and len(whole) > MESSAGE_MAX:
            raise ProtocolError(f"a message of more than {MESSAGE_MAX} bytes")
        if more:
            self.parts[key] = whole
            return None
        return whole

    def _on_reply(self, payload: bytes) -> None:
        head, body = schema.split_pair(payload)
        f = schema.fields(head)
        number, stream = f.num(1), f.num(3)
        call = self.calls.pop(number, None)
        if call is None:
            return  # an answer that came too late
        self.replies[number] = Reply(schema.status(f.raw(2)), stream, body)
        if stream and call.method.streaming:
            self.streams[stream] = Stream(self, stream, number, call.name == "Arc.Subscribe")

    def _on_data(self, stream: int, flags: int, payload: Optional[bytes]) -> None:
        if stream in self.credit and flags & frames.ERR:
            self.refused[stream] = from_status(schema.status(payload or b""), "upload")
        s = self.streams.get(stream)
        if s is None:
            return
        whole = self._join(frames.DATA, stream, flags, payload)
        s.room -= len(payload or b"")
        if s.room < 0:
            raise ProtocolError(f"stream {stream} sent more than it had credit for")
        if whole is not None:
            s.put(whole, flags)

    # ---- hello, auth, schema -------------------------------------------------------
    def _hello(self, resume: bytes) -> None:
        self.send(frames.HELLO, 0, frames.FIN,
                  schema.hello_request(frames.FRAME_MAX, WINDOW, MAX_CALLS, "tunewire-python", resume))
        end = time.monotonic() + self.timeout
        while self.hello is None:
            self.pump(end)
        h = self.hello
        if h.major != 1:
            raise ProtocolError(f"the device speaks version {h.major}, this client 1")
        h.max_frame = min(max(h.max_frame, frames.FRAME_MIN), frames.FRAME_MAX)
        h.window, h.max_calls = min(max(h.window, frames.FRAME_MIN), WINDOW), min(max(h.max_calls, 1), MAX_CALLS)
        self.reader.max_frame = h.max_frame

    def _auth(self) -> None:
        if self._key is None:
            raise Unauthenticated(16, 0, 0, f"{self.uri} wants a key: connect(..., key='ID:HEX')", "connect")
        key, nonce_c, nonce_s, r = self._key, os.urandom(16), self.hello.nonce, bytes([self._role])

        def mac(tag: bytes, *parts: bytes) -> bytes:
            return hmac.new(key, tag + b"".join(parts), hashlib.sha256).digest()
        body = (schema.field(1, self._key_id) + schema.field(2, nonce_c)
                + schema.field(3, mac(b"auth", nonce_s, nonce_c, r)) + schema.field(4, self._role))
        reply = self.finish(self.start("Session.Auth", body))
        if not hmac.compare_digest(schema.fields(reply.body).raw(2), mac(b"serv", nonce_c, nonce_s, r)):
            raise ProtocolError("the device does not know the key: not the device it claims to be")
        self.call_key = mac(b"call", nonce_s, nonce_c, r)

    def _fetch_schema(self) -> None:
        # Not kept on disk: it is one round trip, and a file found by a CRC-32 could be another device's forgery.
        blob = self.read_all(self._stream_of(self.finish(self.start("Session.Schema", b""))), MESSAGE_MAX)
        if frames.crc32c(blob) != self.hello.schema_crc:
            raise ProtocolError("the schema does not match the checksum of the hello")
        self.schema = schema.Schema(blob)

    # ---- calls -----------------------------------------------------------------------
    def _method(self, name: str) -> schema.Method:
        return _BOOT_METHODS[name] if self.schema is None or name in _BOOT_METHODS else self.schema.method(name)

    def start(self, name: str, body: bytes, txn: int = 0, stream: int = 0, deadline_ms: int = 0) -> int:
        """Send a call without waiting; returns its id for `finish` or `abandon`."""
        call = Call(name, self._method(name), body, txn, stream, deadline_ms)
        self.call_id += 1
        number = self.call_id
        self.calls[number] = call
        try:
            self._send_call(number, call)
        except ConnectionLost as e:
            self.survive(e)  # which sends it again
        return number

    def _send_call(self, number: int, call: Call) -> None:
        head = b"".join(schema.field(i, v) for i, v in enumerate(
            (number, call.method.number, call.deadline_ms, call.txn, call.stream), 1))
        if self.call_key is not None:
            text = struct.pack("<IIIII", number, call.method.number, call.deadline_ms, call.txn, call.stream)
            head += schema.field(6, hmac.new(self.call_key, text + call.body, hashlib.sha256).digest()[:16])
        pair = schema.varint(len(head)) + head + schema.varint(len(call.body)) + call.body
        self.send(frames.CALL, 0, frames.FIN, pair)

    def finish(self, number: int, timeout: Optional[float] = None) -> Reply:
        """Wait for the answer of a started call. Failures raise; `DeviceError.body` is what came along."""
        name = self.calls[number].name if number in self.calls else "call"
        end = time.monotonic() + (timeout or self.timeout)
        try:
            while number not in self.replies:
                self.pump(end)
        except Timeout:
            self.abandon(number)
            raise Timeout(f"{name}: no answer in {timeout or self.timeout:g} s") from None
        except TunewireError:
            self.calls.pop(number, None)
            raise
        reply = self.replies.pop(number)
        if reply.status.code:
            self.streams.pop(reply.stream, None)
            error = from_status(reply.status, name)
            error.body = reply.body
            raise error
        return reply

    def abandon(self, number: int) -> None:
        """Tell the device that nobody waits for this call any more."""
        self.replies.pop(number, None)
        if self.calls.pop(number, None) is not None:
            self.cancel(number)

    def cancel(self, number: int) -> None:
        """Cancel a call or the stream it opened, if the device still listens."""
        with contextlib.suppress(ConnectionLost):
            self.send(frames.CANCEL, 0, 0, struct.pack("<I", number))

    def call(self, name: str, request: Any = None, timeout: Optional[float] = None, **kw: int) -> Any:
        """Call "Service.Method" with a message; returns the response message, or the Stream of a streaming method."""
        body = b"" if request is None else request.SerializeToString()
        reply = self.finish(self.start(name, body, **kw), timeout)
        method = self._method(name)
        if method.streaming:
            return self._stream_of(reply)
        return schema.parse(self.schema.cls(method.response)(), reply.body)

    # ---- streams ---------------------------------------------------------------------
    def _stream_of(self, reply: Reply) -> Stream:
        if reply.stream not in self.streams:
            raise ProtocolError("the device promised a stream and named none")
        return self.streams[reply.stream]

    def messages(self, stream: Stream, make: Callable[[bytes], Any], limit: int) -> List[Any]:
        """All messages of a finite stream, at most `limit`."""
        out: List[Any] = []
        end = time.monotonic() + self.timeout
        try:
            for data in iter(lambda: stream.next(end), None):
                out.append(make(data))
                if len(out) > limit:
                    raise ProtocolError(f"a stream of more than {limit} messages")
            return out
        finally:
            self.drop(stream)

    def read_all(self, stream: Stream, most: int = BYTES_MAX) -> bytes:
        """All bytes of a byte stream, at most `most`; offsets are checked."""
        out = bytearray()
        end = time.monotonic() + self.timeout
        try:
            for data in iter(lambda: stream.next(end), None):
                if len(data) < 8 or struct.unpack_from("<Q", data)[0] != len(out):
                    raise DataLoss(15, 145, len(out), "stream bytes are missing or out of order", "stream")
                out += data[8:]
                if len(out) > most:
                    raise ProtocolError(f"a stream of more than {most} bytes")
            return bytes(out)
        finally:
            self.drop(stream)

    def drop(self, stream: Stream) -> None:
        """Forget a stream; if it has not ended, tell the device."""
        if self.streams.pop(stream.number, None) is not None and not stream.done:
            self.cancel(stream.call_id)

    def open_stream(self) -> int:
        """A new stream of ours; it starts with the negotiated window as credit."""
        number, self.next_stream = self.next_stream, self.next_stream + 2
        self.credit[number] = self.hello.window
        return number

    def close_stream(self, number: int) -> None:
        """Forget a stream of ours."""
        self.credit.pop(number, None)
        self.refused.pop(number, None)

    def write_stream(self, stream: int, data: bytes, offset: int = 0, chunk: int = 0,
                     progress: Optional[Callable[[int, int], None]] = None) -> None:
        """Send data on a stream as credit allows; offset is the position of data[0]."""
        room = min(chunk or 1 << 30, self.hello.max_frame - frames.HEADER - 8)
        at, end = 0, time.monotonic() + self.timeout
        while at < len(data):
            if stream in self.refused:
                raise self.refused[stream]
            if stream not in self.credit:
                raise ConnectionLost("the connection was lost during an upload")
            n = min(room, len(data) - at, self.credit[stream] - 8)
            if n <= 0:
                self.pump(end)
                continue
            self.credit[stream] -= n + 8
            self.send(frames.DATA, stream, frames.FIN if at + n == len(data) else 0,
                      struct.pack("<Q", offset + at) + data[at:at + n])
            at, end = at + n, time.monotonic() + self.timeout
            if progress:
                progress(offset + at, offset + len(data))


_BOOT_METHODS = {"Session.Auth": schema.Method(0x0102, "", False), "Session.Schema": schema.Method(0x0106, "", True)}


def _address(uri: str) -> Tuple[str, int]:
    parts = urlsplit(uri if "//" in uri else "tcp://" + uri)
    if parts.scheme != "tcp" or not parts.hostname:
        raise ValueError(f"{uri}: expected tcp://HOST[:PORT]")
    return parts.hostname, parts.port or DEFAULT_PORT
