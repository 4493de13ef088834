"""The protocol over real TCP, frame by frame: what a second implementation may rely on.

Everything here is written with raw frames and the field numbers of docs/WIRE_PROTOCOL.md section 15; the messages come
from the schema the device serves, never from a file beside it.
"""
import socket
import struct
import time

import pytest
import tunewire
from conftest import chain_text, wait_for
from test_bad_input import call_bytes, next_frame
from tunewire import frames, schema

CANCELLED, INVALID, NOT_FOUND, OUT_OF_RANGE = 1, 3, 5, 11


class Wire:
    """A client of nothing but frames."""

    def __init__(self, port, token=b"", max_calls=8, window=65536):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.reader = frames.Reader()
        self.replies, self.data, self.ended = {}, {}, set()
        request = schema.hello_request(4096, window, max_calls, "wire") + (schema.field(6, token) if token else b"")
        self.send(frames.HELLO, 0, frames.FIN, request)
        kind, _, _, payload = self.frame()
        assert kind == frames.HELLO
        self.hello = schema.fields(payload)
        self.token = self.hello[7]

    def send(self, kind, stream, flags, payload):
        self.sock.sendall(frames.pack(kind, stream, flags, payload))

    def frame(self, seconds=5):
        f = next_frame(self.sock, self.reader, seconds)
        assert f is not None, "the device closed the connection"
        return f

    def pump(self):
        kind, stream, flags, payload = self.frame()
        if kind == frames.REPLY:
            head, body = schema.split_pair(payload)
            f = schema.fields(head)
            self.replies.setdefault(f.get(1, 0), []).append((schema.status(f.get(2, b"")), f.get(3, 0), body, payload))
        elif kind == frames.DATA:
            self.data.setdefault(stream, []).append(payload)
            if flags & frames.FIN:
                self.ended.add(stream)
            else:
                self.send(frames.CREDIT, stream, 0, struct.pack("<I", len(payload)))

    def call(self, call_id, method, body=b"", **kw):
        self.send(frames.CALL, 0, frames.FIN, call_bytes(call_id, method, body, **kw))

    def wait(self, call_id, n=1):
        while len(self.replies.get(call_id, [])) < n:
            self.pump()
        return self.replies[call_id][n - 1]

    def ask(self, call_id, method, body=b"", **kw):
        self.call(call_id, method, body, **kw)
        return self.wait(call_id)

    def read(self, stream):
        """All bytes of a byte stream."""
        while stream not in self.ended:
            self.pump()
        out = bytearray()
        for p in self.data.pop(stream):
            if p:
                assert struct.unpack_from("<Q", p)[0] == len(out)
                out += p[8:]
        return bytes(out)

    def blocks(self, stream, n):
        while len(self.data.get(stream, [])) < n:
            self.pump()
        return [schema.fields(p) for p in self.data[stream]]

    def cut(self):
        """The cable is pulled: no goodbye."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


@pytest.fixture
def chain(server, compiled):
    return server(graph=compiled(chain_text(2)))


def set_gain(value, **kw):
    """ParamSet of amplifier 0, gain (index 2), H16."""
    body = schema.field(2, 0) + schema.field(3, 2) + schema.field(5, struct.pack("<H", value))
    return body + (schema.field(6, kw["expect"]) if "expect" in kw else b"")


# ---- schema -------------------------------------------------------------------------
def test_a_client_built_from_the_served_schema_alone_works(chain):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    w = Wire(chain.port)
    _, stream, _, _ = w.ask(1, 0x0106)
    served = w.read(stream)
    assert frames.crc32c(served) == w.hello[6], "schema_crc of the hello is not that of the schema served"
    files = descriptor_pb2.FileDescriptorSet.FromString(served)
    pool = descriptor_pool.DescriptorPool()
    for f in files.file:
        pool.Add(f)
    services = [s for f in files.file for s in f.service]
    ids = {f"{s.name}.{m.name}": (i << 8 | k, m) for i, s in enumerate(services, 1)
           for k, m in enumerate(s.method, 1)}
    get_class = getattr(message_factory, "GetMessageClass", None)

    def message(name):
        d = pool.FindMessageTypeByName(name.lstrip("."))
        return get_class(d) if get_class else message_factory.MessageFactory(pool).GetPrototype(d)

    def ask(call_id, name, **fields):
        number, m = ids[name]
        status, _, body, _ = w.ask(call_id, number, message(m.input_type)(**fields).SerializeToString())
        assert status.code == 0, status
        return message(m.output_type).FromString(body)
    nodes = ask(2, "Graph.Nodes").nodes
    assert [n.name for n in nodes] == ["amplifier.0", "amplifier.1"]
    params = {p.name: p for p in ask(3, "Param.Describe", node=1).params}
    gain = params["gain_db"]
    assert gain.unit == "dB" and gain.min < -6 < gain.max
    ack = ask(4, "Param.Set", node=1, index=gain.index, type=gain.type, value=struct.pack("<f", -6))
    assert ack.applied_tick > 0
    assert ask(5, "Param.Get", node=1, index=gain.index).value == struct.pack("<f", -6)


def test_a_name_of_any_bytes_harms_no_other_client(chain):
    sock = socket.create_connection(("127.0.0.1", chain.port), timeout=5)
    sock.sendall(frames.pack(frames.HELLO, 0, frames.FIN,
                             schema.hello_request(4096, 4096, 8, "") + schema.field(5, b"\x1b[2J\xff\n")))
    assert next_frame(sock, frames.Reader())[0] == frames.HELLO
    with tunewire.connect(chain.uri) as dev:
        stream = dev.conn.call("Log.Read", dev.conn.schema.LogRead())
        lines = []
        while (data := stream.next(5)) is not None:
            lines.append(dev.conn.schema.LogLine.FromString(data).text)  # broken UTF-8 would raise here
    assert any("session opened by ?[2J?? at" in line for line in lines), lines
    sock.close()


# ---- too many --------------------------------------------------------------------------
def test_the_seventeenth_is_told_why_and_the_next_place_is_free_at_once(chain):
    full = [Wire(chain.port) for _ in range(16)]
    for _ in range(20):
        with pytest.raises(tunewire.ResourceExhausted) as e:
            tunewire.connect(chain.uri)
        assert "close one or try again" in str(e.value)
    full[3].sock.close()
    assert wait_for(lambda: connects(chain.uri))
    assert all(w.ask(1, 0x0103)[0].code == 0 for i, w in enumerate(full) if i != 3)


def test_connections_that_never_say_hello_make_room(chain):
    silent = [socket.create_connection(("127.0.0.1", chain.port)) for _ in range(16)]
    time.sleep(2.3)
    assert wait_for(lambda: connects(chain.uri), 2), "sixteen silent connections keep everybody out"
    for s in silent:
        s.close()


def connects(uri):
    try:
        tunewire.connect(uri).close()
        return True
    except tunewire.ResourceExhausted:
        return False


# ---- a connection lost and found ------------------------------------------------------------
def test_resume_answers_repeats_from_the_store(chain):
    w = Wire(chain.port)
    first = w.ask(1, 0x0301, set_gain(0x0805))
    w.call(2, 0x0301, set_gain(0x0806))  # its reply is lost with the connection
    time.sleep(0.1)
    w.cut()
    back = Wire(chain.port, w.token)
    assert back.token == w.token and back.hello[12] == w.hello[12]
    again = back.ask(1, 0x0301, set_gain(0x0805))
    assert again[3] == first[3], "a repeat is the very reply"
    second = back.ask(2, 0x0301, set_gain(0x0806))
    assert second[0].code == 0
    third = back.ask(3, 0x0301, set_gain(0x0807))
    versions = [schema.fields(r[2])[1] for r in (first, second, third)]
    assert versions == [versions[0], versions[0] + 1, versions[0] + 2], "a repeat was done twice"
    for i in range(4, 80):
        back.ask(i, 0x0103)
    back.call(2, 0x0103)
    assert back.wait(2, 2)[0].code == OUT_OF_RANGE, "older than the store"


def test_an_unknown_token_begins_a_new_session(chain):
    w = Wire(chain.port, bytes(16))
    assert w.token != bytes(16)
    assert w.ask(1, 0x0103)[0].code == 0


def test_resume_continues_a_blob_where_it_broke(chain, compiled):
    image = open(compiled(chain_text(3)), "rb").read()
    w = Wire(chain.port)
    body = schema.field(2, 1) + schema.field(3, len(image)) + b"\x25" + struct.pack("<I", frames.crc32c(image))
    state = schema.fields(w.ask(1, 0x0701, body, stream=1)[2])
    half = len(image) // 2
    w.send(frames.DATA, 1, 0, struct.pack("<Q", 0) + image[:half])
    assert w.ask(2, 0x0103)[0].code == 0
    w.cut()
    back = Wire(chain.port, w.token)
    stat = schema.fields(back.ask(3, 0x0702, schema.field(1, state[1]))[2])
    assert stat[3] == half and stat[4] == frames.crc32c(image[:half])
    again = schema.fields(back.ask(4, 0x0701, schema.field(8, state[2]), stream=3)[2])
    assert again[3] == half and again[6] == 3
    back.send(frames.DATA, 3, frames.FIN, struct.pack("<Q", half) + image[half:])
    assert schema.fields(back.ask(5, 0x0703, schema.field(1, state[1]))[2])[7] == 1
    load = schema.field(2, state[1]) + schema.field(4, 1) + schema.field(5, 1)
    assert schema.fields(back.ask(6, 0x0202, load)[2])[5] == 3, "the graph of three nodes runs"


def test_resume_keeps_subscriptions_and_drops_the_transaction(chain):
    w = Wire(chain.port)
    _, sub, _, _ = w.ask(1, 0x0503, schema.field(2, 1))
    seen = w.blocks(sub, 3)[-1].get(2, 0)
    txn = schema.fields(w.ask(2, 0x0C01)[2])[1]
    assert w.ask(3, 0x0301, set_gain(0), txn=txn)[0].code == 0
    w.cut()
    back = Wire(chain.port, w.token)
    later = back.blocks(sub, 3)
    assert all(b[1] == sub for b in later) and later[0].get(2, 0) > seen, "seq goes on"
    assert back.ask(4, 0x0C02, schema.field(1, txn))[0].code == NOT_FOUND
    assert back.ask(5, 0x0504, schema.field(1, sub))[0].code == 0
    assert sub in back.ended


def test_resume_takes_over_from_a_connection_that_is_only_half_dead(chain):
    w = Wire(chain.port)
    back = Wire(chain.port, w.token)
    assert back.token == w.token
    kind, _, _, payload = w.frame()
    assert kind == frames.GOAWAY and schema.status(payload).detail == 15
    assert next_frame(w.sock, w.reader) is None
    assert back.ask(1, 0x0103)[0].code == 0


# ---- values by stream -----------------------------------------------------------------------
@pytest.mark.parametrize("why, pieces, code, where", [
    ("whole", [(0, 2, frames.FIN)], 0, 0),
    ("in two pieces and an empty end", [(0, 1, 0), (1, 1, 0), (None, 0, frames.FIN)], 0, 0),
    ("a gap", [(1, 1, 0)], 15, 0),
    ("an overlap", [(0, 1, 0), (0, 1, 0)], 15, 1),
    ("too short", [(0, 1, frames.FIN)], INVALID, None),
    ("too long for any parameter", [(0, 3000, 0), (3000, 3000, 0)], 15, 3000),
    ("given up by its sender", [(0, 1, 0), (None, 0, frames.FIN | frames.ERR)], 15, 1),
])
def test_param_set_by_stream(chain, why, pieces, code, where):
    w = Wire(chain.port)
    w.call(1, 0x0301, schema.field(3, 2) + schema.field(8, 1))
    for offset, n, flags in pieces:
        head = b"" if offset is None else struct.pack("<Q", offset)
        w.send(frames.DATA, 1, flags, head + (struct.pack("<H", 0x0806) * 3000)[offset or 0:][:n])
    status, _, _, _ = w.wait(1)
    assert status.code == code and (where is None or status.where == where), (why, status)
    value = schema.fields(w.ask(2, 0x0302, schema.field(3, 2))[2])[4]
    assert value == struct.pack("<H", 0x0805 if code else 0x0806)


def test_cancel_before_and_after(chain):
    w = Wire(chain.port)
    w.call(1, 0x0301, schema.field(3, 2) + schema.field(8, 1))  # waits for its value
    w.send(frames.CANCEL, 0, 0, struct.pack("<I", 1))
    assert w.wait(1)[0].code == CANCELLED
    assert w.ask(2, 0x0301, set_gain(0x0806))[0].code == 0
    w.send(frames.CANCEL, 0, 0, struct.pack("<I", 2))  # completed: too late, no second answer
    w.send(frames.CANCEL, 0, 0, struct.pack("<I", 77))  # never heard of
    assert w.ask(3, 0x0103)[0].code == 0
    assert len(w.replies[2]) == 1 and 77 not in w.replies


# ---- two tools at once ---------------------------------------------------------------------------
def test_two_clients_race_and_the_slower_learns_which_operation_lost(chain):
    with tunewire.connect(chain.uri) as a, tunewire.connect(chain.uri) as b:
        s = a.conn.schema
        gain = a["amplifier.0"].param("gain")
        version = a.conn.call("Param.Get", s.ParamGet(node=0, index=gain.index)).version
        set_it = s.ParamSet(node=0, index=gain.index, value=gain.encode(0x0806), expect_version=version)
        with pytest.raises(tunewire.Aborted) as lost:
            with a.transaction():
                a["amplifier.1"]["gain"] = 0x0807
                a.conn.call("Param.Set", set_it, txn=a.txn)
                b["amplifier.0"]["gain"] = 0x0808
        assert lost.value.operation == 2 and lost.value.first_error.where == version + 1
        assert a["amplifier.0"]["gain"] == 0x0808 and a["amplifier.1"]["gain"] == 0x0805
        with pytest.raises(tunewire.Aborted):
            a.conn.call("Param.Set", set_it)
        with pytest.raises(tunewire.Aborted):
            a.conn.call("Txn.Begin", s.TxnBegin(expect_generation=a.info().generation + 1))
        with a.transaction(), pytest.raises(tunewire.Busy) as busy:
            b.conn.call("Txn.Begin", b.conn.schema.TxnBegin())
        assert 0 < busy.value.detail <= 5000


def test_a_refused_operation_fails_the_commit_by_name(chain):
    with tunewire.connect(chain.uri) as dev:
        s = dev.conn.schema
        with pytest.raises(tunewire.Aborted) as e:
            with dev.transaction():
                dev["amplifier.0"]["gain"] = 0x0806
                with pytest.raises(tunewire.NotFound):
                    dev.conn.call("Param.Set", s.ParamSet(node=9, index=2, value=bytes(2)), txn=dev.txn)
        assert e.value.operation == 2 and e.value.first_error.code == NOT_FOUND and "node" in str(e.value)
        assert dev["amplifier.0"]["gain"] == 0x0805
