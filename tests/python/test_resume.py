"""Connections that break in the middle: what is repeated, what goes on, what is said to be lost."""
import peer
import pytest
import tunewire
from tunewire import frames


def connect(uri, **kw):
    return tunewire.connect(uri, timeout=1, **kw)


def test_an_unanswered_call_is_repeated_under_its_id_and_answered_once():
    seen = []

    def first(link):
        link.schema()
        seen.append(link.call()[:3])  # and hang up without an answer

    def second(link):
        assert link.hello().raw(6) == peer.SESSION
        seen.append(link.call()[:3])
        link.send(peer.reply(seen[-1][0], b"\x10\x2a"))
        peer.wait_closed(link)
    with peer.device(first, second) as uri, connect(uri, retry_s=2) as dev:
        assert dev.conn.call("Session.Ping", dev.conn.schema.PingReq(payload=b"once")).t_us == 42
    assert seen[0] == seen[1]


def test_without_retry_the_loss_is_raised_and_reconnect_resumes():
    def first(link):
        link.schema()
        link.call()

    def second(link):
        link.hello()
        number = link.call()[0]
        assert number == 3, "ids go on counting in a resumed session"
        link.send(peer.reply(number))
        peer.wait_closed(link)
    with peer.device(first, second) as uri, connect(uri) as dev:
        with pytest.raises(tunewire.ConnectionLost):
            dev.ping()
        assert dev.reconnect() is True
        dev.ping()


def test_a_forgotten_session_says_so_instead_of_repeating_a_call_blindly():
    def first(link):
        link.schema()
        link.call()

    def second(link):
        link.hello(session=b"another session!")
        peer.wait_closed(link)
    with peer.device(first, second) as uri, connect(uri, retry_s=2) as dev:
        with pytest.raises(tunewire.ConnectionLost, match="unknown"):
            dev.ping()


def test_a_subscription_goes_on_after_a_resume():
    def block(seq):
        return peer.data(4, b"\x08\x04\x10" + bytes([seq]) + b"\x28\x91\x02")

    def first(link):
        link.schema()
        link.send(peer.reply(link.call()[0], stream=4), block(1), block(2))

    def second(link):
        link.hello()
        link.send(block(3), peer.data(4, b"", frames.FIN))
        peer.wait_closed(link)
    with peer.device(first, second) as uri, connect(uri, retry_s=2) as dev:
        dev._arcs = {"a": dev.conn.schema.ArcInfo(arc=1, name="a")}
        assert [b.seq for b in dev.subscribe("a")] == [1, 2, 3]


def test_a_subscription_of_a_forgotten_session_does_not_end_as_if_it_were_over():
    def first(link):
        link.schema()
        link.send(peer.reply(link.call()[0], stream=4), peer.data(4, b"\x10\x01"))

    def second(link):
        link.hello(session=b"another session!")
        peer.wait_closed(link)
    with peer.device(first, second) as uri, connect(uri, retry_s=2) as dev:
        dev._arcs = {"a": dev.conn.schema.ArcInfo(arc=1, name="a")}
        feed = dev.subscribe("a")
        assert feed.read().seq == 1
        with pytest.raises(tunewire.ConnectionLost):
            feed.read()
        with pytest.raises(tunewire.ConnectionLost):
            feed.read()


def test_an_upload_goes_on_where_the_device_says_it_stopped():
    data, got = bytes(range(256)) * 40, bytearray()

    def take(link, until):
        while len(got) < until:
            payload = link.frame(frames.DATA)
            assert int.from_bytes(payload[:8], "little") == len(got)
            got.extend(payload[8:])

    def first(link):
        link.schema(window=4096)
        link.send(peer.reply(link.call()[0], b"\x08\x05\x12\x02tk\x28\x80\x08"))
        take(link, 2048)

    def second(link):
        link.hello()
        number, method, body, _ = link.call()
        assert method == 0x0701 and b"tk" in body
        link.send(peer.reply(number, b"\x08\x05\x12\x02tk\x18" + bytes([len(got) & 127 | 128, len(got) >> 7])
                             + b"\x28\x80\x08"))
        take(link, len(data))
        link.send(peer.reply(link.call()[0]))
        peer.wait_closed(link)
    with peer.device(first, second) as uri, connect(uri, retry_s=2) as dev:
        assert dev.upload(data) == 5
    assert bytes(got) == data


def test_goaway_because_the_session_is_used_elsewhere_is_not_fought_over():
    def first(link):
        link.schema()
        link.call()
        link.send(frames.pack(frames.GOAWAY, 0, 1, peer.status(14, 15, 0, "resumed elsewhere")))
    with peer.device(first) as uri, connect(uri, retry_s=2) as dev:
        with pytest.raises(tunewire.ConnectionLost) as e:
            dev.ping()
        assert isinstance(e.value.__cause__, tunewire.Unavailable) and "elsewhere" in str(e.value)


def test_a_stream_left_early_or_by_an_exception_is_taken_back():
    stopped = []

    def script(link):
        link.schema()
        for stream in (4, 6):
            link.send(peer.reply(link.call()[0], stream=stream), peer.data(stream, b"\x10\x01"))
            number, method, body, _ = link.call()
            stopped.append((method, body))
            link.send(peer.reply(number), peer.data(stream, b"", frames.FIN))
        link.send(peer.reply(link.call()[0]))
        peer.wait_closed(link)
    with peer.device(script) as uri, connect(uri) as dev:
        dev._arcs = {"a": dev.conn.schema.ArcInfo(arc=1, name="a")}
        for _ in dev.subscribe("a"):
            break
        with pytest.raises(ZeroDivisionError), dev.subscribe("a") as feed:
            for _ in feed:
                raise ZeroDivisionError
        dev.ping()
        assert dev.conn.streams == {}
    assert stopped == [(0x0504, b"\x08\x04"), (0x0504, b"\x08\x06")]
