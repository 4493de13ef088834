"""A scripted device: one thread, one socket at a time, doing exactly what a test tells it to."""
import contextlib
import os
import socket
import threading

from tunewire import frames, schema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DESCRIPTOR = os.path.join(ROOT, "build", "gen", "tunewire.desc")
SESSION = bytes(range(16))


def descriptor():
    with open(DESCRIPTOR, "rb") as f:
        return f.read()


def hello_rep(crc=None, session=SESSION, max_frame=65536, window=65536, major=1, boot=9, nonce=b"n" * 16, auth=0):
    crc = frames.crc32c(descriptor()) if crc is None else crc
    f = schema.field
    return (f(1, major) + f(3, max_frame) + f(4, window) + schema.varint(6 << 3 | 5) + crc.to_bytes(4, "little")
            + f(7, session) + f(8, nonce) + f(9, auth) + f(12, boot) + f(13, 8))


def status(code, detail=0, where=0, text=""):
    return schema.field(1, code) + schema.field(2, detail) + schema.field(3, where) + schema.field(4, text)


def reply(call_id, body=b"", stream=0, st=b""):
    head = schema.field(1, call_id) + schema.field(2, st) + schema.field(3, stream)
    return frames.pack(frames.REPLY, 0, frames.FIN,
                       schema.varint(len(head)) + head + schema.varint(len(body)) + body)


def data(stream, payload=b"", flags=0):
    return frames.pack(frames.DATA, stream, flags, payload)


class Link:
    """The device's end of one connection."""

    def __init__(self, sock):
        self.sock, self.reader, self.calls = sock, frames.Reader(), []
        sock.settimeout(10)

    def send(self, *parts):
        self.sock.sendall(b"".join(parts))

    def frame(self, kind):
        """Payload of the next frame of a kind; others are passed over."""
        while True:
            f = self.reader.next()
            if f is None:
                got = self.sock.recv(1 << 16)
                if not got:
                    raise EOFError
                self.reader.feed(got)
            elif f[0] == kind:
                return f[3]

    def hello(self, **kw):
        request = schema.fields(self.frame(frames.HELLO))
        self.send(frames.pack(frames.HELLO, 0, frames.FIN, hello_rep(**kw)))
        return request

    def call(self):
        """(call id, method, body, header fields) of the next call."""
        head, body = schema.split_pair(self.frame(frames.CALL))
        f = schema.fields(head)
        self.calls.append((f.num(1), f.num(2)))
        return f.num(1), f.num(2), body, f

    def schema(self, blob=None, **kw):
        """Hello, and the schema on stream 2."""
        request = self.hello(**kw)
        blob = descriptor() if blob is None else blob
        number, method, _, _ = self.call()
        assert method == 0x0106
        self.send(reply(number, stream=2))
        self.serve(2, blob, kw.get("window", 65536))
        return request

    def serve(self, stream, blob, window):
        """A byte stream to its end, within credit."""
        step, at = min(window, 4096) - frames.HEADER - 8, 0
        while at < len(blob):
            n = min(step, len(blob) - at)
            while window < n + 8:
                window += int.from_bytes(self.frame(frames.CREDIT), "little")
            last = frames.FIN if at + n == len(blob) else 0
            self.send(data(stream, at.to_bytes(8, "little") + blob[at:at + n], last))
            window, at = window - n - 8, at + n
        if not blob:
            self.send(data(stream, b"", frames.FIN))


@contextlib.contextmanager
def device(*scripts):
    """A device whose n-th connection runs scripts[n](link); yields its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)
    failures = []

    def run():
        for script in scripts:
            with contextlib.suppress(OSError, EOFError):
                sock, _ = listener.accept()
                with sock:
                    try:
                        script(Link(sock))
                    except AssertionError as e:
                        failures.append(e)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()
        thread.join(10)
        assert not failures, failures


def wait_closed(link):
    """Stay until the client hangs up."""
    with contextlib.suppress(OSError, EOFError):
        while True:
            link.frame(-1)
