"""Devices that lie, stall or flood: a typed error within the timeout, and no memory for it."""
import time
import tracemalloc

import peer
import pytest
import tunewire
from tunewire import frames, schema

TIMEOUT = 0.5


def connect(uri, **kw):
    return tunewire.connect(uri, timeout=TIMEOUT, **kw)


def forever(make):
    def run(link):
        link.schema()
        link.call()
        while True:
            link.send(make())
    return run


def at_hello(payload):
    def run(link):
        link.frame(frames.HELLO)
        link.send(payload)
        peer.wait_closed(link)
    return run


def huge():
    import struct
    a, b = struct.pack("<BBBBH", 0xA5, 1, 1, 1, 0), struct.pack("<II", 1 << 31, 0)
    return a + struct.pack("<H", frames.crc16(a + b)) + b


def wrong_crc():
    f = bytearray(frames.pack(frames.HELLO, 0, frames.FIN, peer.hello_rep()))
    f[-1] ^= 1
    return bytes(f)


def hello_with(**kw):
    return frames.pack(frames.HELLO, 0, frames.FIN, peer.hello_rep(**kw))


@pytest.mark.parametrize("why, payload, error", [
    ("silence", b"", tunewire.Timeout),
    ("garbage", bytes(range(256)) * 40, tunewire.Timeout),
    ("sync bytes only", b"\xa5" * 20000, tunewire.Timeout),
    ("a web server", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, tunewire.Timeout),
    ("wrong crc", wrong_crc(), tunewire.Timeout),
    ("huge length", huge(), tunewire.ProtocolError),
    ("a reply before hello", peer.reply(1), tunewire.ProtocolError),
    ("hello that is no message", frames.pack(frames.HELLO, 0, 1, b"\xff" * 30), tunewire.ProtocolError),
    ("hello with a number for a name", frames.pack(frames.HELLO, 0, 1, b"\x08\x01\x38\x05"), tunewire.ProtocolError),
    ("another major", hello_with(major=2), tunewire.ProtocolError),
    ("goaway", frames.pack(frames.GOAWAY, 0, 1, peer.status(19, 30, 0, "no")), tunewire.errors.VersionError),
    ("two hellos", hello_with() * 2, tunewire.ProtocolError),
])
def test_a_bad_hello_ends_in_a_typed_error_in_time(why, payload, error):
    with peer.device(at_hello(payload)) as uri:
        start = time.monotonic()
        with pytest.raises(error):
            connect(uri)
        assert time.monotonic() - start < 3 * TIMEOUT


def test_limits_of_zero_or_of_gigabytes_in_hello_are_brought_to_what_the_protocol_allows():
    for value, frame, window in ((0, 256, 256), (1 << 31, 65536, 1 << 20)):
        def script(link):
            link.hello(max_frame=value, window=value)
            number = link.call()[0]
            link.send(peer.reply(number, stream=2))
            link.serve(2, peer.descriptor(), 256)
            peer.wait_closed(link)
        with peer.device(script) as uri, connect(uri) as dev:
            assert (dev.conn.hello.max_frame, dev.conn.hello.window) == (frame, window)


@pytest.mark.parametrize("why, blob, kw", [
    ("a crc that does not match", b"\n\x00", {"crc": 5}),
    ("no message at all", b"\xff\xff\xff", {"crc": frames.crc32c(b"\xff\xff\xff")}),
    ("no file in it", b"", {"crc": 0}),
    ("a file that refers to nothing", b"\n\x07\n\x01a\x1a\x02zz", {"crc": frames.crc32c(b"\n\x07\n\x01a\x1a\x02zz")}),
])
def test_a_schema_that_is_not_one_is_refused(why, blob, kw):
    def script(link):
        link.schema(blob=blob, **kw)
        peer.wait_closed(link)
    with peer.device(script) as uri, pytest.raises(tunewire.ProtocolError):
        connect(uri)


def endless_schema(link):
    link.hello(window=1 << 20)
    link.send(peer.reply(link.call()[0], stream=2))
    at = 0
    while True:  # no regard for credit
        link.send(peer.data(2, at.to_bytes(8, "little") + bytes(60000)))
        at += 60000


def dripping_schema(link):
    link.hello()
    link.send(peer.reply(link.call()[0], stream=2))
    for at in range(1000):
        link.send(peer.data(2, at.to_bytes(8, "little") + b"x"))
        time.sleep(TIMEOUT / 8)


@pytest.mark.parametrize("script, error", [
    (endless_schema, tunewire.ProtocolError), (dripping_schema, tunewire.Timeout)])
def test_an_endless_stream_ends_in_time(script, error):
    with peer.device(script) as uri:
        start = time.monotonic()
        with pytest.raises(error):
            connect(uri)
        assert time.monotonic() - start < 3 * TIMEOUT


@pytest.mark.parametrize("why, make, error", [
    ("replies nobody asked for", lambda: peer.reply(4242, bytes(60000)), tunewire.Timeout),
    ("data of streams nobody opened", lambda: peer.data(8, bytes(60000)), tunewire.Timeout),
    ("credit for streams nobody opened", lambda: frames.pack(frames.CREDIT, 9, 0, b"\0\0\1\0") * 2000,
     tunewire.Timeout),
    ("a message without an end", lambda: frames.pack(frames.REPLY, 0, frames.MORE, bytes(60000)),
     tunewire.ProtocolError),
    ("noise", lambda: b"\xa5\x00" * 30000, tunewire.Timeout),
])
def test_a_flood_is_dropped_and_the_call_times_out(why, make, error):
    with peer.device(forever(make)) as uri:
        dev = connect(uri)
        tracemalloc.start()
        start = time.monotonic()
        with pytest.raises(error):
            dev.ping()
        took, peak = time.monotonic() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        dev.close()
    assert took < 5 * TIMEOUT and peak < 6 << 20, (took, peak)


def test_a_subscription_beyond_its_credit_is_fatal_not_memory():
    def script(link):
        link.schema(window=65536)
        link.send(peer.reply(link.call()[0], stream=4))
        while True:
            link.send(peer.data(4, bytes(30000)))
    with peer.device(script) as uri:
        dev = connect(uri)
        stream = dev.conn.call("Arc.Subscribe")
        with pytest.raises(tunewire.ProtocolError):
            dev.ping()
        assert sum(map(len, stream.items)) <= 65536
        assert dev.conn.sock is None
        with pytest.raises(tunewire.ConnectionLost):
            dev.ping()


def test_a_gap_in_a_byte_stream_is_data_loss():
    def script(link):
        link.schema()
        link.send(peer.reply(link.call()[0], stream=4), peer.data(4, bytes(8) + b"abc"),
                  peer.data(4, (5).to_bytes(8, "little") + b"def", frames.FIN))
        peer.wait_closed(link)
    with peer.device(script) as uri, connect(uri) as dev:
        with pytest.raises(tunewire.DataLoss) as e:
            dev.conn.read_all(dev.conn.call("Graph.Manifest"))
        assert e.value.where == 3


def test_a_damaged_piece_spoils_its_message_and_only_that():
    def pieces(stream, texts, damage=None):
        flags = [frames.MORE] * (len(texts) - 1) + [0]
        out = [frames.pack(frames.DATA, stream, f, t) for f, t in zip(flags, texts)]
        if damage is not None:
            out[damage] = out[damage][:-1] + bytes([out[damage][-1] ^ 1])
        return b"".join(out)

    def script(link):
        link.schema()
        link.send(peer.reply(link.call()[0], stream=4), pieces(4, (b"aa", b"bb", b"cc")),
                  pieces(4, (b"aa", b"bb", b"cc"), 1), b"noise", pieces(4, (b"dd", b"ee")),
                  peer.data(4, b"", frames.FIN))
        peer.wait_closed(link)
    with peer.device(script) as uri, connect(uri) as dev:
        assert dev.conn.messages(dev.conn.call("Log.Read"), bytes, 9) == [b"aabbcc", b"ddee"]


def test_a_reply_that_comes_too_late_is_not_taken_for_another():
    def script(link):
        link.schema()
        first = link.call()[0]
        assert schema.varint(first) and link.frame(frames.CANCEL) == first.to_bytes(4, "little")
        second = link.call()[0]
        link.send(peer.reply(first, b"\x10\x05"), peer.reply(second, b"\x10\x07"))
        peer.wait_closed(link)
    with peer.device(script) as uri, connect(uri) as dev:
        with pytest.raises(tunewire.Timeout):
            dev.conn.call("Session.Ping")
        assert dev.conn.call("Session.Ping").t_us == 7


@pytest.mark.parametrize("body", [b"\xff\xff", b"\x0a\x7f"])
def test_a_response_that_does_not_decode_is_a_protocol_error(body):
    def script(link):
        link.schema()
        link.send(peer.reply(link.call()[0], body))
        peer.wait_closed(link)
    with peer.device(script) as uri, connect(uri) as dev, pytest.raises(tunewire.ProtocolError):
        dev.info()


@pytest.mark.parametrize("code, error", [*tunewire.errors.BY_CODE.items(), (77, tunewire.DeviceError)])
def test_each_status_is_its_own_exception_with_its_place(code, error):
    def script(link):
        link.schema()
        link.send(peer.reply(link.call()[0], st=peer.status(code, 114, 3, "parameter out of range")))
        peer.wait_closed(link)
    with peer.device(script) as uri, connect(uri) as dev:
        with pytest.raises(tunewire.DeviceError) as e:
            dev.info()
        assert type(e.value) is error
        assert (e.value.code, e.value.detail, e.value.where, e.value.method) == (code, 114, 3, "Graph.Info")
        assert "parameter out of range" in str(e.value)


def test_an_upload_the_device_refuses_ends_with_its_reason():
    def script(link):
        link.schema(window=256)
        number, _, _, head = link.call()
        link.send(peer.reply(number, b"\x08\x05\x12\x02tk\x28\x40"))
        link.send(peer.data(head.num(5), peer.status(15, 145, 0, "offset"), frames.FIN | frames.ERR))
        assert link.call()[1] == 0x0704  # Blob.Abort
        link.send(peer.reply(link.calls[-1][0]))
        peer.wait_closed(link)
    with peer.device(script) as uri, connect(uri) as dev, pytest.raises(tunewire.DataLoss):
        dev.upload(bytes(10000))


def test_a_device_that_cannot_prove_the_key_is_not_trusted():
    def script(link):
        link.hello(auth=1)
        link.send(peer.reply(link.call()[0], b"\x08\x02\x12\x20" + bytes(32)))
        peer.wait_closed(link)
    with peer.device(script) as uri, pytest.raises(tunewire.ProtocolError):
        connect(uri, key="lab:00112233")
