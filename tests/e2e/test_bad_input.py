"""Hostile and unlucky clients: each gets its own status or is dropped and counted; the graph never notices.

Every case runs against a server that plays known input through a unity graph. What the graph must have
played is the input itself, so the output file is compared with an undisturbed run sample by sample.
"""
import os
import socket
import struct
import time

import pytest
import tunewire
from conftest import chain_text, compile_graph, wait_for, write_wav
from test_tuning import input_at, noise
from tunewire import errors, frames, schema

SAMPLES = noise(48000, seed=7)


@pytest.fixture
def running(server, compiled, tmp_path):
    wav = write_wav(tmp_path / "in.wav", SAMPLES)
    s = server(ios=[f"audio_in_0={wav}"], graph=compiled(chain_text(2)))
    time.sleep(0.05)
    yield s
    with tunewire.connect(s.uri) as dev:  # still serving, same graph, same parameters
        assert dev.info().generation == 1
        assert dev["amplifier.0"]["gain"] == 0x0805 and dev["amplifier.1"]["gain"] == 0x0805
        assert wait_for(lambda: dev.info().ticks >= 200)
    out = s.stop()
    assert len(out) >= 48 * 200, "the run was too short to mean anything"
    assert list(out) == input_at(SAMPLES, 0, len(out)), "the output differs from an undisturbed run"


def dial(s):
    sock = socket.create_connection(("127.0.0.1", s.port), timeout=5)
    return sock


def hello(sock):
    sock.sendall(frames.pack(frames.HELLO, 0, frames.FIN, schema.hello_request(4096, 65536, 8, "hostile")))
    reader = frames.Reader()
    while True:
        reader.feed(sock.recv(65536))
        f = reader.next()
        if f:
            return reader


def next_frame(sock, reader, seconds=5):
    sock.settimeout(seconds)
    while True:
        f = reader.next()
        if f:
            return f
        data = sock.recv(65536)
        if not data:
            return None
        reader.feed(data)


def call_bytes(call_id, method, body=b"", **kw):
    head = schema.field(1, call_id) + schema.field(2, method) + schema.field(4, kw.get("txn", 0))
    head += schema.field(5, kw.get("stream", 0))
    return schema.varint(len(head)) + head + schema.varint(len(body)) + body


def reply_status(payload):
    head, _ = schema.split_pair(payload)
    f = schema.fields(head)
    return f.get(1, 0), schema.status(f.get(2, b""))


def stats(s):
    with tunewire.connect(s.uri) as dev:
        return dev.stats()


# ---- frames ---------------------------------------------------------------------
def test_truncated_frame_then_vanish(running):
    whole = frames.pack(frames.CALL, 0, frames.FIN, call_bytes(1, 0x0103))
    for n in (1, 8, 15, 16, len(whole) - 1):
        with dial(running) as sock:
            hello(sock)
            sock.sendall(whole[:n])


def test_oversized_frame_is_fatal_for_its_connection_only(running):
    with dial(running) as sock:
        reader = hello(sock)
        a = struct.pack("<BBBBH", 0xA5, 1, 0, 1, 0)
        b = struct.pack("<II", 1 << 24, 0)
        sock.sendall(a + struct.pack("<H", frames.crc16(a + b)) + b)
        kind, _, _, payload = next_frame(sock, reader)
        assert kind == frames.GOAWAY and schema.status(payload).detail == 24
        assert next_frame(sock, reader) is None, "the connection must close"


def test_wrong_payload_crc_costs_the_frame_not_the_connection(running):
    with dial(running) as sock:
        reader = hello(sock)
        bad = bytearray(frames.pack(frames.CALL, 0, frames.FIN, call_bytes(1, 0x0103, b"\x0a\x02hi")))
        bad[-1] ^= 1
        sock.sendall(bytes(bad) + frames.pack(frames.CALL, 0, frames.FIN, call_bytes(2, 0x0103, b"\x0a\x02hi")))
        seen = {}
        while 2 not in seen:
            kind, _, _, payload = next_frame(sock, reader)
            call_id, status = reply_status(payload)
            seen[call_id] = status.code
        assert seen[2] == 0 and seen.get(1, 18) == 18


def test_wrong_header_crc_and_noise_are_skipped_and_counted(running):
    with dial(running) as sock:
        reader = hello(sock)
        bad = bytearray(frames.pack(frames.CALL, 0, frames.FIN, call_bytes(1, 0x0103)))
        bad[9] ^= 0x40
        sock.sendall(os.urandom(3000).replace(b"\xa5", b"\x00") + bytes(bad) + b"\xa5" * 40
                     + frames.pack(frames.CALL, 0, frames.FIN, call_bytes(2, 0x0103)))
        kind, _, _, payload = next_frame(sock, reader)
        assert (kind, reply_status(payload)[0]) == (frames.REPLY, 2)


def test_wrong_frame_version_gets_goaway_version(running):
    with dial(running) as sock:
        a = struct.pack("<BBBBH", 0xA5, 2, 5, 1, 0)
        b = struct.pack("<II", 0, 0)
        sock.sendall(a + struct.pack("<H", frames.crc16(a + b)) + b)
        reader = frames.Reader()
        kind, _, _, payload = next_frame(sock, reader)
        assert kind == frames.GOAWAY and schema.status(payload).code == 19


def test_wrong_major_version_gets_goaway_version(running):
    with dial(running) as sock:
        sock.sendall(frames.pack(frames.HELLO, 0, frames.FIN, schema.field(1, 2) + schema.field(3, 1024)))
        reader = frames.Reader()
        f = next_frame(sock, reader)
        while f and f[0] == frames.HELLO:
            f = next_frame(sock, reader)
        assert f and f[0] == frames.GOAWAY and schema.status(f[3]).code == 19


def test_anything_before_hello_is_refused(running):
    with dial(running) as sock:
        sock.sendall(frames.pack(frames.CALL, 0, frames.FIN, call_bytes(1, 0x0103)))
        reader = frames.Reader()
        kind, _, _, payload = next_frame(sock, reader)
        assert kind == frames.GOAWAY and schema.status(payload).detail == 31


def test_silence_and_immediate_close(running):
    for _ in range(50):
        dial(running).close()
    keep = [dial(running) for _ in range(5)]  # say nothing at all
    time.sleep(0.1)
    for k in keep:
        k.close()


# ---- calls ------------------------------------------------------------------------
@pytest.mark.parametrize("method, body, code", [
    (0x0FFF, b"", 12), (0x0000, b"", 12), (0x0601, b"", 12),
    (0x0301, b"\xff\xff\xff", 3), (0x0301, b"\x22\xff\xff\xff\x7f", 3),
    (0x0302, schema.field(2, 77) + schema.field(3, 1), 5),
    (0x0302, schema.field(2, 1) + schema.field(3, 99), 5),
    (0x0302, schema.field(1, 9), 5),
    (0x0502, b"", None), (0x0505, schema.field(2, 4000), 5), (0x0503, schema.field(2, 4000), 5),
    (0x0402, schema.field(2, 200), 5), (0x0202, schema.field(2, 99) + schema.field(5, 1), 5), (0x0202, schema.field(2, 99), 6),
    (0x0C02, schema.field(1, 12345), 5), (0x0704, schema.field(1, 4711), 5),
])
def test_bad_calls_answer_their_own_status(running, method, body, code):
    with dial(running) as sock:
        reader = hello(sock)
        sock.sendall(frames.pack(frames.CALL, 0, frames.FIN, call_bytes(1, method, body)))
        kind, _, _, payload = next_frame(sock, reader)
        call_id, status = reply_status(payload)
        assert kind == frames.REPLY and call_id == 1 and status.code != 0
        assert code is None or status.code == code, status
        assert status.text, "a refusal must carry a text"


@pytest.mark.parametrize("change, kind", [
    (dict(node=99), errors.NotFound), (dict(index=200), errors.NotFound), (dict(type=27), errors.InvalidArgument),
    (dict(value=b"\x01"), errors.InvalidArgument), (dict(value=b"\xff\xff"), errors.OutOfRange),
    (dict(index=16, type=27, value=b"\0\0\0\0"), errors.PermissionDenied),
    (dict(index=6, type=27, value=struct.pack("<f", float("nan"))), errors.OutOfRange),
    (dict(index=6, type=27, value=struct.pack("<f", 37)), errors.OutOfRange),
    (dict(index=256, type=0, value=b"\x01\x02"), errors.InvalidArgument),
    (dict(expect_version=999), errors.Aborted),
])
def test_bad_parameters_change_nothing(running, change, kind):
    with tunewire.connect(running.uri) as dev:
        s = dev.conn.schema
        request = s.ParamSet(node=0, index=2, type=18, value=b"\x06\x08")
        for k, v in change.items():
            setattr(request, k, v)
        with pytest.raises(kind) as e:
            dev.conn.call("Param.Set", request)
        assert e.value.text


def test_unstable_filter_is_refused(server, compiled):
    s = server(graph=compiled("examples/voice_gate.txt"))
    with tunewire.connect(s.uri) as dev:
        before = dev["filter.0"].get_block()
        # the seed's own example with post shift 1: second stage with pole radius 1.27
        block = struct.pack("<Bb10h", 2, 1, 9315, 14928, 9315, 25576, -11147, 9315, 5736, 9315, 9328, -26591)
        with pytest.raises(tunewire.OutOfRange) as e:
            dev["filter.0"].set_block(block)
        assert e.value.detail == 116
        assert dev["filter.0"].get_block() == before
    s.stop()


# ---- images and scripts -----------------------------------------------------------------
def test_corrupt_foreign_and_truncated_images_are_refused(running, compiled):
    image = open(compiled(chain_text(3)), "rb").read()
    bad = [b"", b"\x7fELF" + bytes(200), image[:100], image[:-16], b"TWG1" + os.urandom(400)]
    for at in (0, 5, 13, 17, 49, 52, 70, 128, 140, len(image) // 2, len(image) - 1):
        bad.append(image[:at] + bytes([image[at] ^ 0x10]) + image[at + 1:])
    with tunewire.connect(running.uri) as dev:
        for data in bad:
            with pytest.raises(tunewire.DeviceError) as e:
                dev.load(data or b"\0")
            assert e.value.text
        assert dev.info().generation == 1


def test_script_that_never_ends_is_stopped_and_reported(server, compiled, tmp_path):
    text = chain_text(1) .replace("arc_section", "script 0\nscript_registers 2\nscript_pointers 1\nscript_code\n"
                                  "1 h16; C000\n_end_\n_end_\narc_section", 1)
    wav = write_wav(tmp_path / "in.wav", SAMPLES)
    s = server(ios=[f"audio_in_0={wav}"], graph=compiled(text))
    with tunewire.connect(s.uri) as dev:
        forever = struct.pack("<3H", 0x0501, 0x0001, 0xC000)  # labl #1, jmp #1, ret
        dev.load_script(0, forever)
        result = None
        try:
            result = dev.run_script(0)
            assert result.status.code != 0
        except tunewire.DeviceError as e:
            assert e.text
        assert wait_for(lambda: any("script" in r.text for r in dev.log()), 2)
        assert dev.scripts()[0].faults == 1
        for bad in (b"\x00\x90", struct.pack("<H", 0xF000), b"\x01", struct.pack("<2H", 0x0005, 0xC000)):
            with pytest.raises(tunewire.DeviceError):
                dev.load_script(0, bad)
    out = s.stop()
    assert list(out) == input_at(SAMPLES, 0, len(out))


# ---- vanishing ------------------------------------------------------------------------------
def test_client_vanishes_in_mid_upload_and_mid_transaction(running):
    for _ in range(3):
        dev = tunewire.connect(running.uri)
        s = dev.conn.schema
        stream = dev.conn.open_stream()
        dev.conn.call("Blob.Open", s.BlobOpen(kind=1, size=1 << 20, crc32c=1), stream=stream)
        dev.conn.write_stream(stream, bytes(5000))
        dev.close()
    dev = tunewire.connect(running.uri)
    s = dev.conn.schema
    txn = dev.conn.call("Txn.Begin", s.TxnBegin(lease_ms=60000)).txn
    dev.txn = txn
    dev["amplifier.0"]["gain"] = 0
    dev.close()
    with tunewire.connect(running.uri) as other:  # the lock went with the connection
        assert wait_for(lambda: begin(other), 3)


def test_upload_that_the_device_ends_fails_at_once(running):
    with tunewire.connect(running.uri, timeout=30) as dev:
        s = dev.conn.schema
        stream = dev.conn.open_stream()
        dev.conn.call("Blob.Open", s.BlobOpen(kind=1, size=4 << 20, crc32c=1), stream=stream)
        start = time.monotonic()
        with pytest.raises(tunewire.DataLoss) as e:
            dev.conn.write_stream(stream, bytes(4 << 20), offset=5)  # a gap: nothing was sent before it
        assert e.value.where == 0 and time.monotonic() - start < 5
        assert dev.ping() < 5


def begin(dev):
    try:
        dev.conn.call("Txn.Rollback", dev.conn.schema.TxnRef(
            txn=dev.conn.call("Txn.Begin", dev.conn.schema.TxnBegin(lease_ms=1000)).txn))
        return True
    except tunewire.Busy:
        return False


def test_transaction_lease_expires(running):
    with tunewire.connect(running.uri) as a, tunewire.connect(running.uri) as b:
        txn = a.conn.call("Txn.Begin", a.conn.schema.TxnBegin(lease_ms=200)).txn
        a.txn = txn
        a["amplifier.0"]["gain"] = 0
        with pytest.raises(tunewire.Busy):
            b.conn.call("Txn.Begin", b.conn.schema.TxnBegin(lease_ms=200))
        time.sleep(0.4)
        with pytest.raises(tunewire.DeviceError):
            a.conn.call("Txn.Commit", a.conn.schema.TxnRef(txn=txn))


def test_client_that_stops_reading_is_cut_off_from_telemetry_not_the_graph(running):
    sock = dial(running)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    hello(sock)
    for i in range(1, 400):
        sock.settimeout(0.2)
        try:
            sock.sendall(frames.pack(frames.CALL, 0, frames.FIN, call_bytes(i, 0x0206)))
        except (socket.timeout, OSError):
            break
    body = schema.field(2, 0)
    try:
        sock.sendall(frames.pack(frames.CALL, 0, frames.FIN, call_bytes(500, 0x0503, body)))
    except (socket.timeout, OSError):
        pass
    start = time.monotonic()
    with tunewire.connect(running.uri) as dev:  # others are served meanwhile
        for _ in range(200):
            dev.ping()
    assert time.monotonic() - start < 5
    time.sleep(0.5)
    sock.close()


def test_flood_of_garbage_connections(running):
    for i in range(30):
        with dial(running) as sock:
            try:
                sock.sendall(os.urandom(20000))
            except OSError:
                pass


def test_data_without_credit_or_stream(running):
    with dial(running) as sock:
        reader = hello(sock)
        sock.sendall(frames.pack(frames.DATA, 41, 0, bytes(100)))  # unknown stream: dropped
        sock.sendall(frames.pack(frames.CALL, 0, frames.FIN, call_bytes(1, 0x0103)))
        assert next_frame(sock, reader)[0] == frames.REPLY
        sock.sendall(frames.pack(frames.CREDIT, 2, 0, struct.pack("<I", 0xFFFFFFFF)))
        sock.sendall(frames.pack(frames.CALL, 0, 0x40, b""))  # reserved flag: fatal
        f = next_frame(sock, reader)
        while f and f[0] != frames.GOAWAY:
            f = next_frame(sock, reader)
        assert f is not None


# ---- who may connect -----------------------------------------------------------------------------
def test_other_addresses_need_a_key(server):
    with pytest.raises(AssertionError) as e:
        server(listen="0.0.0.0:0")
    assert "key" in str(e.value)


def test_key_is_demanded_and_checked(server, compiled, tmp_path):
    key = tmp_path / "key"
    key.write_text("bench:0123456789abcdef0123456789abcdef\n")
    s = server(key=key, graph=compiled(chain_text(1)))
    with pytest.raises(tunewire.Unauthenticated):
        tunewire.connect(s.uri)
    with pytest.raises((tunewire.Unauthenticated, tunewire.ProtocolError, tunewire.ConnectionLost)):
        tunewire.connect(s.uri, key="bench:ff23456789abcdef0123456789abcdef")
    with tunewire.connect(s.uri, key=key.read_text()) as dev:
        dev["amplifier.0"]["gain"] = 0x0806
        assert dev["amplifier.0"]["gain"] == 0x0806
    with tunewire.connect(s.uri, key=key.read_text(), role=0) as dev:
        with pytest.raises(tunewire.PermissionDenied):
            dev["amplifier.0"]["gain"] = 0x0805
    s.stop()
