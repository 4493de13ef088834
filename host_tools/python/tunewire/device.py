"""The device as Python objects: nodes and parameters by name, graphs, transactions, arcs, scripts, logs."""
import array
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from . import errors
from .connection import Connection
from .frames import crc32c

ALL = 256
KIND_GRAPH, KIND_SCRIPT, KIND_RAW = 1, 4, 8
# raw type code -> struct letter; codes are those of the schema's ParamDesc.type and ArcInfo.raw
_LETTER = {11: "b", 12: "B", 13: "b", 14: "B", 17: "h", 18: "H", 19: "h", 23: "i", 24: "i", 25: "I", 26: "i",
           27: "f", 30: "q", 31: "Q", 34: "d"}
READ_ONLY = 1


def connect(uri="tcp://127.0.0.1:5600", key=None, role=2, timeout=5.0):
    """Connect to a device. `key` is the text of its key file, "[ID:]HEX", for devices that ask for one."""
    key_id, key_bytes = parse_key(key) if key is not None else ("", None)
    return Device(Connection(uri, key_bytes, key_id, role, timeout))


def parse_key(text):
    """(id, bytes) of "[ID:]HEX": the first line that is neither empty nor a comment."""
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, digits = line.rpartition(":")
            try:
                return name or "default", bytes.fromhex(digits)
            except ValueError:
                break
    raise ValueError("a key is one line [ID:]HEX")


class Param:
    """One parameter as the device describes it."""

    def __init__(self, node, desc):
        self.node, self.index, self.name, self.type = node, desc.index, desc.name, desc.type
        self.count, self.min, self.max, self.default = desc.count, desc.min, desc.max, desc.default_value
        self.unit, self.read_only = desc.unit, bool(desc.flags & READ_ONLY)

    def encode(self, value):
        letter = _LETTER[self.type]
        values = list(value) if isinstance(value, (list, tuple, array.array)) else [value]
        if len(values) != self.count:
            raise ValueError(f"{self.node.name}.{self.name} takes {self.count} values, {len(values)} given")
        if letter not in "fd":
            values = [int(v) for v in values]
        try:
            return struct.pack(f"<{self.count}{letter}", *values)
        except struct.error:
            raise ValueError(f"{self.node.name}.{self.name}: {value} is outside {self.min:g}..{self.max:g}") from None

    def decode(self, data):
        values = struct.unpack(f"<{self.count}{_LETTER[self.type]}", data)
        return values[0] if self.count == 1 else values

    def __repr__(self):
        access = " read-only" if self.read_only else ""
        return f"<{self.node.name}.{self.name} {self.min:g}..{self.max:g} {self.unit}{access}>"


class Node:
    """A node of the running graph; parameters by name: node["gain_db"] = -6."""

    def __init__(self, device, info):
        self.device, self.index, self.name, self.type = device, info.node, info.name, info.type
        self.in_arcs, self.out_arcs = list(info.in_arcs), list(info.out_arcs)
        self._params = None

    @property
    def params(self):
        if self._params is None:
            c, out = self.device.conn, []
            while True:
                page = c.call("Param.Describe", c.schema.NodeRef(node=self.index, first=len(out)))
                out += [Param(self, d) for d in page.params]
                if len(out) >= page.total or not page.params:
                    break
            self._params = {p.name: p for p in out}
        return self._params

    def param(self, name):
        if isinstance(name, int):
            for p in self.params.values():
                if p.index == name:
                    return p
        elif name in self.params:
            return self.params[name]
        known = ", ".join(self.params)
        raise KeyError(f"{self.name} has no parameter {name!r}; it has {known}")

    def __getitem__(self, name):
        p = self.param(name)
        c = self.device.conn
        return p.decode(c.call("Param.Get", c.schema.ParamGet(node=self.index, index=p.index)).value)

    def __setitem__(self, name, value):
        self.set(name, value)

    def set(self, name, value):
        """Set one parameter; returns the tick of the first block that runs with it (0 while staged)."""
        p = self.param(name)
        c = self.device.conn
        request = c.schema.ParamSet(node=self.index, index=p.index, type=p.type, value=p.encode(value))
        return c.call("Param.Set", request, txn=self.device.txn).applied_tick

    def get_block(self):
        """All settable parameters as one block of bytes (index 256)."""
        c = self.device.conn
        return c.call("Param.Get", c.schema.ParamGet(node=self.index, index=ALL)).value

    def set_block(self, data):
        c = self.device.conn
        request = c.schema.ParamSet(node=self.index, index=ALL, value=bytes(data))
        return c.call("Param.Set", request, txn=self.device.txn).applied_tick

    def preset(self, number):
        c = self.device.conn
        return c.call("Param.Preset", c.schema.PresetReq(node=self.index, preset=number),
                      txn=self.device.txn).applied_tick

    def __repr__(self):
        return f"<node {self.index} {self.name} ({self.type}): {', '.join(self.params)}>"


class Transaction:
    """Everything set inside the `with` block applies at one frame boundary, or not at all."""

    def __init__(self, device, at_tick=0, lease_ms=5000):
        self.device, self.at_tick, self.lease_ms = device, at_tick, lease_ms
        self.tick = self.generation = self.ops = None

    def __enter__(self):
        c = self.device.conn
        request = c.schema.TxnBegin(lease_ms=self.lease_ms)
        if self.at_tick:
            request.at, request.tick = 2, self.at_tick
        self.device.txn = c.call("Txn.Begin", request).txn
        return self

    def __exit__(self, kind, value, trace):
        c, txn = self.device.conn, self.device.txn
        self.device.txn = 0
        if kind is not None:
            try:
                c.call("Txn.Rollback", c.schema.TxnRef(txn=txn))
            except errors.TunewireError:
                pass  # the first failure is the one to report; the lease ends the transaction anyway
            return False
        try:
            reply = c.call("Txn.Commit", c.schema.TxnRef(txn=txn))
        except errors.DeviceError as e:
            rep = c.schema.TxnRep.FromString(e.response)
            if rep.HasField("first_error"):
                e.operation, e.first_error = e.where, rep.first_error
            raise
        self.tick, self.generation, self.ops = reply.applied_tick, reply.generation, reply.ops
        return False


class Block:
    """Samples of one arc as they were written."""

    def __init__(self, message, letter):
        self.seq, self.t_us, self.dropped, self.data = message.seq, message.t_us, message.dropped, message.data
        self._letter = letter

    @property
    def samples(self):
        out = array.array(self._letter)
        size = len(self.data) // out.itemsize * out.itemsize
        out.frombytes(self.data[:size])
        if sys.byteorder == "big":
            out.byteswap()
        return out


class Device:
    def __init__(self, conn):
        self.conn, self.txn = conn, 0
        self._nodes = None

    # ---- life ------------------------------------------------------------------
    def close(self):
        self.conn.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ping(self, payload=b""):
        """Round trip in seconds."""
        start = time.perf_counter()
        self.conn.call("Session.Ping", self.conn.schema.PingReq(payload=payload))
        return time.perf_counter() - start

    def stats(self):
        return {c.name: c.value for c in self.conn.call("Session.Stats").counters}

    # ---- graphs ------------------------------------------------------------------
    def info(self):
        return self.conn.call("Graph.Info", self.conn.schema.GraphRef())

    def load(self, source, start=True, name="", progress=None):
        """Load a graph: a .twg file, a text file (compiled by the `tunewire` tool), or image bytes."""
        data = source if isinstance(source, (bytes, bytearray)) else self._image(source)
        blob = self.upload(bytes(data), KIND_GRAPH, name or "graph", progress)
        self._nodes = None
        s = self.conn.schema
        return self.conn.call("Graph.Load", s.GraphLoad(name=name, blob=blob, start=start, replace=True))

    @staticmethod
    def _image(path):
        path = os.fspath(path)
        if not path.endswith(".txt"):
            with open(path, "rb") as f:
                return f.read()
        tool = os.environ.get("TUNEWIRE_TOOL") or shutil.which("tunewire")
        if tool is None:
            raise errors.TunewireError(f"{path} is text and needs the `tunewire` tool on PATH (or TUNEWIRE_TOOL)")
        with tempfile.TemporaryDirectory() as d:
            out = os.path.join(d, "g.twg")
            run = subprocess.run([tool, "compile", path, "-o", out], capture_output=True, text=True)
            if run.returncode:
                raise errors.TunewireError(f"compiling {path} failed:\n{run.stderr}")
            with open(out, "rb") as f:
                return f.read()

    def control(self, op, steps=0):
        """op: "start", "stop", "step", "reset" or "warm"."""
        ops = {"start": 0, "stop": 1, "step": 2, "reset": 3, "warm": 4}
        return self.conn.call("Graph.Control", self.conn.schema.GraphCtl(op=ops[op], steps=steps))

    def unload(self):
        self._nodes = None
        self.conn.call("Graph.Unload", self.conn.schema.GraphRef())

    # ---- nodes ---------------------------------------------------------------------
    @property
    def nodes(self):
        """{name: Node} of the current graph."""
        if self._nodes is None:
            infos = self._paged("Graph.Nodes", "nodes")
            self._nodes = {i.name: Node(self, i) for i in infos}
        return self._nodes

    def refresh(self):
        """Forget what is known of the graph (after somebody else loaded another)."""
        self._nodes = None

    def __getitem__(self, name):
        if isinstance(name, int):
            for n in self.nodes.values():
                if n.index == name:
                    return n
        elif name in self.nodes:
            return self.nodes[name]
        raise KeyError(f"no node {name!r}; the graph has {', '.join(self.nodes)}")

    def _paged(self, method, name):
        out = []
        while True:
            page = self.conn.call(method, self.conn.schema.GraphRef(first=len(out)))
            rows = getattr(page, name)
            out += rows
            if len(out) >= page.total or not rows:
                return out

    def transaction(self, at_tick=0, lease_ms=5000):
        return Transaction(self, at_tick, lease_ms)

    def set_many(self, values):
        """Set {(node, parameter): value} in one transaction, pipelined; returns the applied tick."""
        c, s = self.conn, self.conn.schema
        number = s.methods["Param.Set"][0]
        with self.transaction() as t:
            ids = []
            window = max(1, min(c.hello.max_calls, 64))
            for (node, param), value in values.items():
                n = self[node]
                p = n.param(param)
                body = s.ParamSet(node=n.index, index=p.index, type=p.type, value=p.encode(value)).SerializeToString()
                ids.append(c.start(number, body, txn=self.txn))
                if len(ids) >= window:
                    c.finish(ids.pop(0), "Param.Set")
            for i in ids:
                c.finish(i, "Param.Set")
        return t.tick

    # ---- arcs ------------------------------------------------------------------------
    def arcs(self):
        return self._paged("Graph.Arcs", "arcs")

    def _arc(self, arc):
        rows = self.arcs()
        for a in rows:
            if arc in (a.arc, a.name):
                return a
        raise KeyError(f"no arc {arc!r}; the graph has {', '.join(a.name for a in rows)}")

    def read_arc(self, arc, limit=4096):
        """The latest samples of an arc; does not take them away from the graph."""
        a = self._arc(arc)
        data = self.conn.read_all(self.conn.call("Arc.Read", self.conn.schema.ArcRead(arc=a.arc, limit=limit)))
        out = array.array(_LETTER.get(a.raw, "B"))
        out.frombytes(data[:len(data) // out.itemsize * out.itemsize])
        return out

    def subscribe(self, arc, seconds=None, blocks=None, mode="raw", decimate=0, max_bytes_per_s=0):
        """Yield Blocks of an arc as they are written, for a time, a number of blocks, or until closed."""
        a = self._arc(arc)
        c, s = self.conn, self.conn.schema
        modes = {"raw": 0, "minmax": 1, "rms": 2, "last": 3}
        request = s.SubReq(arc=a.arc, mode=modes[mode], decimate=decimate, max_bytes_per_s=max_bytes_per_s)
        stream = c.call("Arc.Subscribe", request)
        end = None if seconds is None else time.monotonic() + seconds
        count = 0
        try:
            while (end is None or time.monotonic() < end) and (blocks is None or count < blocks):
                data = stream.next(c.timeout)
                if data is None:
                    return
                message = s.ArcBlock()
                message.ParseFromString(data)
                count += 1
                yield Block(message, _LETTER.get(message.format & 0xFF, "B"))
        finally:
            if not stream.done and c.sock is not None:
                try:
                    c.call("Arc.Unsubscribe", s.SubRef(sub=stream.number))
                except errors.TunewireError:
                    pass  # it ended by itself meanwhile
            c.streams.pop(stream.number, None)

    # ---- scripts, blobs, log -----------------------------------------------------------
    def scripts(self):
        return list(self.conn.call("Script.List").scripts)

    def load_script(self, index, code, code_bytes=0):
        """Replace a script. Literals follow the code on a multiple of 4; code_bytes then says where the code ends."""
        s = self.conn.schema
        code = bytes(code)
        return self.conn.call("Script.Load", s.ScriptLoad(index=index, code=code, code_bytes=code_bytes,
                                                          crc=crc32c(code)), txn=self.txn)

    def run_script(self, index, *args, budget=0):
        s = self.conn.schema
        return self.conn.call("Script.Run", s.ScriptRun(index=index, args=list(args), budget=budget))

    def upload(self, data, kind=KIND_RAW, name="", progress=None):
        """Send bytes to the device and commit them; returns the blob number."""
        c, s = self.conn, self.conn.schema
        request = s.BlobOpen(name=name, kind=kind, size=len(data), crc32c=crc32c(data))
        if c.call_key is not None:
            import hashlib
            request.sha256 = hashlib.sha256(data).digest()
        stream = c.open_stream()
        state = c.call("Blob.Open", request, stream=stream)
        if state.stream and state.stream != stream:
            stream = state.stream
            c.credit.setdefault(stream, c.hello.window)
        try:
            c.write_stream(stream, data[state.next_offset:], state.next_offset, state.chunk or None, progress)
            c.call("Blob.Commit", s.BlobRef(blob=state.blob))
        except errors.DeviceError:
            c.call("Blob.Abort", s.BlobRef(blob=state.blob))
            raise
        finally:
            c.credit.pop(stream, None)
            c.streams.pop(stream, None)
        return state.blob

    def log(self, from_seq=0, limit=256):
        """Log lines kept by the device."""
        c, s = self.conn, self.conn.schema
        stream, out = c.call("Log.Read", s.LogRead(from_seq=from_seq, limit=limit)), []
        while True:
            data = stream.next(c.timeout)
            if data is None:
                c.streams.pop(stream.number, None)
                return out
            line = s.LogLine()
            line.ParseFromString(data)
            out.append(line)
