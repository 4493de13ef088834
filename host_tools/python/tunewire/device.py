"""The device as Python objects: nodes and parameters by name, graphs, transactions, arcs, scripts, logs."""
from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from . import schema
from .arcs import LETTER, Block, Feed, Probe, Recording, WavFile, _NO_DEADLINE_S, decibels, samples_of
from .connection import Connection, Stream
from .debug import ScriptDebug
from .errors import BadValue, ConnectionLost, DeviceError, Timeout, TunewireError, UnknownName, from_status
from .frames import crc32c

ALL = 256        # parameter index: the whole block of a node
INLINE_MAX = 512  # longer values go by stream
READ_ONLY = 1
KIND_GRAPH, KIND_SCRIPT, KIND_RAW = 1, 4, 8
SCR_BAD_PTR = 89  # errors.def
MODES = {"raw": 0, "minmax": 1, "rms": 2, "last": 3}
CARRY = {"none": 0, "state": 1, "params": 2}
TRIGGERS = {"now": 0, "level": 1, "flow": 2, "tick": 3, "script": 4, "host": 5}
EDGES = {"rising": 0, "falling": 1, "enter": 2, "leave": 3}
POINTS = {"raw": 0, "minmax": 1, "rms": 2}
PROBE_MODES = {"single": 0, "repeat": 1, "auto": 2}
CONTROLS = {"start": 0, "stop": 1, "step": 2, "reset": 3, "warm": 4}
Progress = Optional[Callable[[int, int], None]]
Source = Union[str, "os.PathLike[str]", bytes, bytearray]
Named = TypeVar("Named")


def connect(uri: str = "tcp://127.0.0.1:5600", key: Optional[str] = None, role: int = 2, timeout: float = 5.0,
            retry_s: float = 0.0) -> Device:
    """Connect to a device.

    key      text of its key file, "[ID:]HEX", for devices that ask for one
    role     0 view, 1 tune, 2 admin: what to ask for with that key
    timeout  seconds any single answer may take before `Timeout`
    retry_s  seconds to try to come back by itself when the connection is lost, 0 = raise ConnectionLost at once
    """
    key_id, key_bytes = parse_key(key) if key is not None else ("", None)
    return Device(Connection(uri, key_bytes, key_id, role, timeout, retry_s))


def parse_key(text: str) -> Tuple[str, bytes]:
    """(id, bytes) of "[ID:]HEX": the first line that is neither empty nor a comment."""
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, digits = line.rpartition(":")
            try:
                if bytes.fromhex(digits):
                    return name or "default", bytes.fromhex(digits)
            except ValueError:
                pass
            break
    raise ValueError("a key is one line [ID:]HEX")


def _pick(table: Mapping[str, Named], name: Union[str, int], index: Callable[[Named], int], what: str) -> Named:
    """An entry by its name or its number; a miss names what comes near."""
    if isinstance(name, int):
        for entry in table.values():
            if index(entry) == name:
                return entry
    elif name in table:
        return table[name]
    near = difflib.get_close_matches(str(name), table, 3) or list(table)[:8]
    raise UnknownName(f"no {what} {name!r}; there is {', '.join(near) or 'none'}")


class Param:
    """One parameter as the device describes it."""

    def __init__(self, node: Node, desc: Any) -> None:
        self.node, self.index, self.name, self.type = node, desc.index, desc.name, desc.type
        self.count, self.min, self.max, self.default = desc.count, desc.min, desc.max, desc.default_value
        self.unit, self.read_only = desc.unit, bool(desc.flags & READ_ONLY)

    @property
    def path(self) -> str:
        """ "node.parameter" """
        return f"{self.node.name}.{self.name}"

    @property
    def _format(self) -> str:
        if self.type not in LETTER:
            raise BadValue(f"{self.path}: raw type {self.type} has no number in Python; use get_block and set_block")
        return f"<{self.count}{LETTER[self.type]}"

    def encode(self, value: Any) -> bytes:
        """Bytes of a number, or of a sequence of `count` numbers. Ranges are left to the device."""
        form = self._format
        values = list(value) if hasattr(value, "__iter__") and not isinstance(value, str) else [value]
        if len(values) != self.count:
            raise BadValue(f"{self.path} takes {self.count} values, {len(values)} given")
        try:
            numbers = values if form[-1] in "fd" else [int(v) for v in values]
            if numbers != values:
                raise ValueError
            return struct.pack(form, *numbers)
        except (struct.error, OverflowError, TypeError, ValueError):
            kind = "number" if form[-1] in "fd" else "whole number"
            raise BadValue(f"{self.path}: {value!r} is not a {kind} in {self.min:g}..{self.max:g}") from None

    def decode(self, data: bytes) -> Any:
        """A number, or a tuple when there are several."""
        try:
            values = struct.unpack(self._format, data)
        except struct.error:
            raise BadValue(f"{self.path}: the device sent {len(data)} bytes for {self._format[1:]}") from None
        return values[0] if self.count == 1 else values

    def __repr__(self) -> str:
        access = " read-only" if self.read_only else ""
        return f"<{self.path} {self.min:g}..{self.max:g} {self.unit}{access}>"


class Node:
    """A node of the running graph; parameters by name: node["gain_db"] = -6."""

    def __init__(self, device: Device, info: Any) -> None:
        self.device, self.index, self.name, self.type = device, info.node, info.name, info.type
        self.in_arcs, self.out_arcs = list(info.in_arcs), list(info.out_arcs)
        self._params: Optional[Dict[str, Param]] = None

    @property
    def params(self) -> Dict[str, Param]:
        """{name: Param}, asked for once."""
        if self._params is None:
            make = self.device.conn.schema.NodeRef
            rows = self.device.paged("Param.Describe", "params", lambda first: make(node=self.index, first=first))
            self._params = {d.name: Param(self, d) for d in rows}
        return self._params

    def param(self, name: Union[str, int]) -> Param:
        """A parameter by its name or index."""
        return _pick(self.params, name, lambda p: p.index, f"parameter of {self.name}")

    def __getitem__(self, name: Union[str, int]) -> Any:
        p = self.param(name)
        return p.decode(self._get(p.index))

    def __setitem__(self, name: Union[str, int], value: Any) -> None:
        self.set(name, value)

    def set(self, name: Union[str, int], value: Any) -> int:
        """Set one parameter; returns the tick of the first block that runs with it (0 while staged)."""
        p = self.param(name)
        return self.device.set_bytes(self.index, p.index, p.encode(value), p.type, p.path)

    def _get(self, index: int) -> bytes:
        c, out = self.device.conn, b""
        while True:
            request = c.schema.ParamGet(node=self.index, index=index, offset=len(out))
            part = c.call("Param.Get", request)
            out += part.value
            if len(out) >= part.total or not part.value:
                return out

    def get_block(self) -> bytes:
        """All settable parameters as one block of bytes."""
        return self._get(ALL)

    def set_block(self, data: bytes) -> int:
        """Set all settable parameters at once, as `get_block` gave them; returns the tick."""
        return self.device.set_bytes(self.index, ALL, bytes(data), 0, self.name)

    def preset(self, number: int) -> int:
        """Set the parameters of a preset the node type has; returns the tick."""
        request = self.device.conn.schema.PresetReq(node=self.index, preset=number)
        return self.device.staged("Param.Preset", request, f"{self.name} preset {number}").applied_tick

    def __repr__(self) -> str:
        return f"<node {self.index} {self.name} ({self.type}): {', '.join(self.params)}>"


class Shadow:
    """Other parameters of a node, tried on its input beside it. With `with`, dropped at the end unless promoted."""

    def __init__(self, device: Device, node: Node, skip: int = 0) -> None:
        self.device, self.node = device, node
        info = device.conn.call("Shadow.Start", device.conn.schema.ShadowReq(node=node.index, skip=skip))
        self.number, self.bytes, self.version = info.shadow, info.bytes, info.version

    def set(self, name: Union[str, int], value: Any) -> None:
        """Set one candidate value."""
        c, p = self.device.conn, self.node.param(name)
        request = c.schema.ShadowSet(shadow=self.number, index=p.index, type=p.type, value=p.encode(value))
        c.call("Shadow.Set", request)

    def metrics(self, restart: bool = False) -> Any:
        """ShadowMetrics so far: samples, diff_rms, diff_max, node_rms, shadow_rms, correlation, ..."""
        c = self.device.conn
        return c.call("Shadow.Metrics", c.schema.ShadowRef(shadow=self.number, restart=restart))

    def promote(self, check: bool = True) -> int:
        """Set the node to the candidate values, all in one block; returns its tick.

        check  refuse when somebody else changed the node meanwhile
        """
        c = self.device.conn
        request = c.schema.ShadowRef(shadow=self.number, expect_version=self.version if check else 0)
        tick: int = c.call("Shadow.Promote", request).applied_tick
        self.number = 0
        return tick

    def drop(self) -> None:
        """Forget the shadow. May be called again."""
        c, number = self.device.conn, self.number
        self.number = 0
        if number:
            try:
                c.call("Shadow.Drop", c.schema.ShadowRef(shadow=number))
            except DeviceError:
                pass  # its graph went, and it with it

    def __enter__(self) -> Shadow:
        return self

    def __exit__(self, *_: Any) -> None:
        self.drop()


class Transaction:
    """Everything set inside the `with` block applies at one frame boundary, or not at all.

    Afterwards `tick` is the first block that runs with it, `ops` how many operations there were. With `confirm_s`
    the old values come back by themselves unless `confirm()` is called within so many seconds of the commit; also
    when the connection is lost, the device is overloaded, or an output turns into NaN.
    """

    def __init__(self, device: Device, at_tick: int = 0, lease_ms: int = 5000, confirm_s: float = 0.0) -> None:
        self.device, self.at_tick, self.lease_ms, self.confirm_s = device, at_tick, lease_ms, confirm_s
        self.number = 0
        self.tick = self.generation = self.ops = 0

    def __enter__(self) -> Transaction:
        c = self.device.conn
        request = c.schema.TxnBegin(lease_ms=self.lease_ms)
        if self.at_tick:
            request.at, request.tick = 2, self.at_tick
        if self.confirm_s > 0:
            request.confirm_ms = max(1, round(self.confirm_s * 1000))
        self.device.txn = self.number = c.call("Txn.Begin", request).txn
        self.device.operations = []
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        c, request = self.device.conn, self.device.conn.schema.TxnRef(txn=self.device.txn)
        self.device.txn = 0
        if kind is not None:
            try:
                c.call("Txn.Rollback", request)
            except TunewireError:
                pass  # the first failure is the one to report; the lease ends the transaction anyway
            return
        wait: Dict[str, Any] = {"deadline_ms": int(c.timeout * 1000), "timeout": c.timeout + 1} if self.at_tick else {}
        try:
            reply = c.call("Txn.Commit", request, **wait)
        except DeviceError as e:
            raise self._explained(e) from e.first_error
        self.tick, self.generation, self.ops = reply.applied_tick, reply.generation, reply.ops

    def confirm(self) -> int:
        """Keep the new values; returns the tick. DeviceError when they were taken back already."""
        return self._last_word("Txn.Confirm")

    def revert(self) -> int:
        """Put the old values back, all at one boundary; returns its tick."""
        return self._last_word("Txn.Rollback")

    def _last_word(self, method: str) -> int:
        c = self.device.conn
        return int(c.call(method, c.schema.TxnRef(txn=self.number)).applied_tick)

    def _explained(self, e: DeviceError) -> DeviceError:
        """The error of Commit with the operation that failed and that operation's own error."""
        names = self.device.operations
        reply = schema.parse(self.device.conn.schema.TxnRep(), e.body)
        if reply.HasField("first_error"):
            e.first_error = from_status(reply.first_error, "operation")
            e.what = e.first_error.what = names[e.where - 1] if 0 < e.where <= len(names) else ""
        return e


class Device:
    """A connected device. Not for several threads at once: give each thread a device of its own."""

    def __init__(self, conn: Connection) -> None:
        self.conn, self.txn = conn, 0
        self.operations: List[str] = []  # of the open transaction, in the order the device counts them
        self._nodes: Optional[Dict[str, Node]] = None
        self._arcs: Optional[Dict[str, Any]] = None

    # ---- life ------------------------------------------------------------------
    def close(self) -> None:
        """Close the connection. May be called again."""
        self.conn.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def reconnect(self) -> bool:
        """Connect again after ConnectionLost. True: the session goes on, with its subscriptions and blobs. False: it
        was forgotten (the device restarted, or too much time passed), so begin anew. An open transaction is lost."""
        self.refresh()
        self.txn = 0
        return self.conn.reconnect()

    def ping(self, payload: bytes = b"") -> float:
        """Round trip in seconds."""
        start = time.perf_counter()
        self.conn.call("Session.Ping", self.conn.schema.PingReq(payload=payload))
        return time.perf_counter() - start

    def stats(self) -> Dict[str, int]:
        """The device's counters by name."""
        return {c.name: c.value for c in self.conn.call("Session.Stats").counters}

    # ---- graphs ------------------------------------------------------------------
    def info(self) -> Any:
        """GraphInfo: name, generation, state, ticks, load, late blocks."""
        return self.conn.call("Graph.Info", self.conn.schema.GraphRef())

    def load(self, source: Source, start: bool = True, name: str = "", progress: Progress = None,
             fade_s: float = 0.0, carry: str = "", confirm_s: float = 0.0) -> Any:
        """Load a graph: a .twg file, a text file (compiled by the `tunewire` tool), or image bytes.

        fade_s     both graphs run for so long, and their outputs fade from one to the other
        carry      what nodes of the same name, type and formats take over: "none", "state", "params" (and state);
                   "" = state with a fade, else none
        confirm_s  the old graph comes back unless `keep()` is called within so many seconds
        """
        image = _translate(source, ("compile",))
        s = self.conn.schema
        with self._blob(image, KIND_GRAPH, name or "graph", progress) as blob:
            request = s.GraphLoad(name=name, blob=blob.number, start=start, replace=True,
                                  fade_ms=round(fade_s * 1000), confirm_ms=round(confirm_s * 1000),
                                  carry=CARRY[carry or ("state" if fade_s > 0 else "none")])
            info = self.conn.call("Graph.Load", request)
        self.refresh()
        return info

    def rollback(self, fade_s: float = 0.0) -> Any:
        """Go back to the graph before the last load, within one block or with a fade."""
        info = self.conn.call("Graph.Rollback", self.conn.schema.GraphBack(fade_ms=round(fade_s * 1000)))
        self.refresh()
        return info

    def keep(self) -> Any:
        """Keep the graph loaded last for good: there is no way back any more."""
        return self.conn.call("Graph.Keep", self.conn.schema.GraphRef())

    def record_start(self, name: str, outputs: bool = False) -> Any:
        """Record all a graph hears, from the next load on, into a file of the server's --record-dir, for
        `tunewire replay`. outputs: keep whole outputs, not only their checksums."""
        return self.conn.call("Record.Start", self.conn.schema.RecordReq(name=name, outputs=outputs))

    def record_state(self) -> Any:
        """RecordState: phase (0 none, 1 waits for a load, 2 records, 3 ends, 4 ended), name, bytes, complete, text."""
        return self.conn.call("Record.State", self.conn.schema.Empty())

    def record_stop(self) -> Any:
        """End the recording. @return RecordState, once its file is whole"""
        state = self.conn.call("Record.Stop", self.conn.schema.Empty())
        while state.phase == 3:
            time.sleep(0.01)
            state = self.record_state()
        return state

    def control(self, op: str, steps: int = 0) -> Any:
        """op: "start", "stop", "step", "reset" or "warm"."""
        return self.conn.call("Graph.Control", self.conn.schema.GraphCtl(op=CONTROLS[op], steps=steps))

    def unload(self) -> None:
        """Remove the graph; the device plays nothing."""
        self.refresh()
        self.conn.call("Graph.Unload", self.conn.schema.GraphRef())

    def refresh(self) -> None:
        """Forget what is known of the graph (after somebody else loaded another)."""
        self._nodes = self._arcs = None

    # ---- nodes ---------------------------------------------------------------------
    @property
    def nodes(self) -> Dict[str, Node]:
        """{name: Node} of the current graph."""
        if self._nodes is None:
            self._nodes = {i.name: Node(self, i) for i in self._graph_list("Graph.Nodes", "nodes")}
        return self._nodes

    def __getitem__(self, name: Union[str, int]) -> Node:
        return _pick(self.nodes, name, lambda n: n.index, "node")

    def paged(self, method: str, rows: str, request: Callable[[int], Any]) -> List[Any]:
        """A list that may take several replies; request(first) asks for the part that begins there."""
        out: List[Any] = []
        while True:
            page = self.conn.call(method, request(len(out)))
            out += getattr(page, rows)
            if len(out) >= page.total or not getattr(page, rows):
                return out

    def _graph_list(self, method: str, rows: str) -> List[Any]:
        return self.paged(method, rows, lambda first: self.conn.schema.GraphRef(first=first))

    # ---- setting -------------------------------------------------------------------
    def transaction(self, at_tick: int = 0, lease_ms: int = 5000, confirm_s: float = 0.0) -> Transaction:
        """`with dev.transaction() as t:` - all sets inside apply together, `t.tick` says when.
        confirm_s: afterwards `t.confirm()` within so many seconds, or the old values come back."""
        return Transaction(self, at_tick, lease_ms, confirm_s)

    def _start_staged(self, method: str, request: Any, what: str, stream: int = 0) -> int:
        if self.txn:
            self.operations.append(what)
        return self.conn.start(method, request.SerializeToString(), txn=self.txn, stream=stream)

    def _finish_staged(self, number: int, what: str) -> bytes:
        try:
            return self.conn.finish(number).body
        except DeviceError as e:
            e.what = what
            raise

    def staged(self, method: str, request: Any, what: str) -> Any:
        """A call that joins the open transaction, if there is one; `what` names it in errors."""
        body = self._finish_staged(self._start_staged(method, request, what), what)
        return schema.parse(self.conn.schema.cls(self.conn.schema.method(method).response)(), body)

    def set_bytes(self, node: int, index: int, value: bytes, raw: int = 0, what: str = "") -> int:
        """Param.Set with encoded bytes; long values go by stream. Returns the tick."""
        c, s = self.conn, self.conn.schema
        if len(value) <= INLINE_MAX:
            request = s.ParamSet(node=node, index=index, type=raw, value=value)
            return self.staged("Param.Set", request, what).applied_tick
        stream = c.open_stream()
        try:
            request = s.ParamSet(node=node, index=index, type=raw, stream=stream)
            number = self._start_staged("Param.Set", request, what)
            c.write_stream(stream, value)
            return schema.parse(s.ParamAck(), self._finish_staged(number, what)).applied_tick
        finally:
            c.close_stream(stream)

    def set_many(self, values: Mapping[Tuple[str, str], Any]) -> int:
        """Set {(node, parameter): value} in one transaction, pipelined; returns the applied tick.

        Everything is encoded first, so a BadValue costs nothing; a refused one rolls all back and says which.
        """
        s, work = self.conn.schema, []
        for (node, name), value in values.items():
            p = self[node].param(name)
            request = s.ParamSet(node=p.node.index, index=p.index, type=p.type, value=p.encode(value))
            work.append((request, p.path))
        with self.transaction() as t:
            self._pipeline(work, max(1, self.conn.hello.max_calls - 1))
        return t.tick

    def _pipeline(self, work: Sequence[Tuple[Any, str]], depth: int) -> None:
        """Param.Set for each; at the first refusal the rest is not sent, but every answer is taken."""
        open_calls: List[Tuple[int, str]] = []
        error: Optional[DeviceError] = None
        at = 0
        while open_calls or (at < len(work) and error is None):
            if at < len(work) and error is None and len(open_calls) < depth:
                request, what = work[at]
                open_calls.append((self._start_staged("Param.Set", request, what), what))
                at += 1
                continue
            try:
                self._finish_staged(*open_calls.pop(0))
            except DeviceError as e:
                error = error or e
        if error is not None:
            raise error

    # ---- IOs -------------------------------------------------------------------------
    def ios(self) -> List[Any]:
        """IoInfo of every IO of the graph: io (its number), name, tx, arc, settings (three words), state (counters)."""
        return self._graph_list("Graph.Ios", "ios")

    def set_io(self, io: Union[str, int], settings: Sequence[int]) -> int:
        """Other settings for an IO, by name or number: three words, as its manifest's options make them.
        Joins the open transaction; else returns the tick from which they hold."""
        rows = {i.name: i for i in self.ios()}
        short = {n.replace("io_platform_", "", 1): i for n, i in rows.items()}
        row = rows.get(str(io)) or _pick(short, io, lambda i: i.io, "io")
        request = self.conn.schema.IoSet(io=row.io, settings=list(settings))
        return int(self.staged("Graph.SetIo", request, f"io {row.name}").applied_tick)

    # ---- arcs ------------------------------------------------------------------------
    def arcs(self) -> List[Any]:
        """ArcInfo of every arc: arc (its number), name, raw, channels, rate, ends, bytes."""
        return self._graph_list("Graph.Arcs", "arcs")

    def arc(self, arc: Union[str, int]) -> Any:
        """ArcInfo by name or number."""
        if self._arcs is None:
            self._arcs = {a.name or str(a.arc): a for a in self.arcs()}
        return _pick(self._arcs, arc, lambda a: a.arc, "arc")

    def arc_read(self, arc: Union[str, int], limit: int = 0) -> Any:
        """Samples waiting in an arc now, as an array; reading does not consume them."""
        a, c = self.arc(arc), self.conn
        return samples_of(c.read_all(c.call("Arc.Read", c.schema.ArcRead(arc=a.arc, limit=limit))), a.raw)

    def subscribe(self, arc: Union[str, int], seconds: Optional[float] = None, blocks: Optional[int] = None,
                  mode: str = "raw", decimate: int = 0, max_bytes_per_s: int = 0) -> Feed[Block]:
        """Blocks of an arc as they are written, from now on: for a time, a number of blocks, or until closed.

        mode      "raw", or one point per `decimate` samples: "minmax", "rms", "last"
        """
        c, s = self.conn, self.conn.schema
        stream = c.call("Arc.Subscribe", s.SubReq(arc=self.arc(arc).arc, mode=MODES[mode], decimate=decimate,
                                                  max_bytes_per_s=max_bytes_per_s))

        def stop(open_stream: Stream) -> None:
            c.call("Arc.Unsubscribe", s.SubRef(sub=open_stream.number))
        return Feed(c, stream, lambda data: Block(schema.parse(s.ArcBlock(), data)), stop, seconds, blocks, c.timeout)

    def meters(self, arcs: Iterable[Union[str, int]], interval: float = 0.1,
               seconds: Optional[float] = None) -> Iterator[List[float]]:
        """Yields the RMS levels of the arcs [dB below full scale], every `interval` seconds."""
        infos = [self.arc(a) for a in arcs]
        feeds = [self.subscribe(a.arc, seconds, mode="rms", decimate=max(1, int(a.rate * interval))) for a in infos]
        try:
            while True:
                blocks = [feed.read() for feed in feeds]
                if None in blocks:
                    return
                yield [decibels(max(b.samples[-b.channels:], default=0.0), a.raw) for a, b in zip(infos, blocks) if b]
        finally:
            for feed in feeds:
                feed.close()

    def level(self, arc: Union[str, int], seconds: float = 0.5) -> float:
        """RMS level of an arc over a time [dB below full scale]."""
        info, total, n = self.arc(arc), 0.0, 0
        for block in self.subscribe(info.arc, seconds, mode="rms"):
            total, n = total + sum(v * v for v in block.samples), n + len(block.samples)
        return decibels((total / n) ** 0.5 if n else 0.0, info.raw)

    def probe(self, arc: Union[str, int], trigger: str = "now", pre: float = 0.01, post: float = 0.05,
              mode: str = "single", edge: str = "rising", low: float = 0.0, high: float = 0.0, hysteresis: float = 0.0,
              magnitude: bool = False, channel: int = 0, tick: int = 0, script: int = 0, flow: int = 0,
              points: str = "raw", every: int = 1, hold_off: float = 0.0, auto_after: float = 0.5,
              max_bytes_per_s: int = 0, seconds: Optional[float] = None) -> Probe:
        """Capture samples of an arc before and after a trigger; times in seconds, of samples where there is no rate.

        trigger  "now", "level" (with edge, low, high, in the arc's unit), "flow", "tick", "script" or "host" (fire())
        """
        c, s, info = self.conn, self.conn.schema, self.arc(arc)
        rate = info.rate or 1.0
        stream = c.call("Probe.Arm", s.ProbeReq(
            arc=info.arc, trigger=TRIGGERS[trigger], mode=PROBE_MODES[mode], edge=EDGES[edge], channel=channel, low=low,
            high=high, hysteresis=hysteresis, magnitude=magnitude, flow=flow, tick=tick, script=script,
            points=POINTS[points], every=every, pre=round(pre * rate), post=round(post * rate),
            hold_off=round(hold_off * rate), auto_after=round(auto_after * rate), max_bytes_per_s=max_bytes_per_s))

        def stop(open_stream: Stream) -> None:
            c.call("Probe.Disarm", s.ProbeRef(probe=open_stream.number))
        wait = _NO_DEADLINE_S if seconds is None else c.timeout
        return Probe(c, Feed(c, stream, lambda data: schema.parse(s.ProbeBlock(), data), stop, seconds, None, wait))

    def shadow(self, node: Union[str, int], values: Mapping[Union[str, int], Any], skip: int = 0) -> Shadow:
        """Try parameters {name: value} on a double of a node: `metrics`, then `promote` or `drop`."""
        shadow = Shadow(self, self[node], skip)
        try:
            for name, value in values.items():
                shadow.set(name, value)
        except BaseException:
            shadow.drop()
            raise
        return shadow

    def record(self, path: str, arc: Union[str, int], seconds: float) -> Recording:
        """Write an arc's samples to a WAV file for a time of the stream; says what was lost on the way."""
        info, dropped = self.arc(arc), 0
        with WavFile(path, info) as wav:
            frame = wav.channels * wav.kind[1]
            left = int(seconds * wav.rate) * frame
            for block in self.subscribe(info.arc):
                dropped = block.dropped
                wav.write(block.data[:left])
                left -= min(left, len(block.data))
                if left == 0:
                    break
        return Recording(path, wav.bytes // frame, dropped)

    # ---- scripts, blobs, log -----------------------------------------------------------
    def scripts(self) -> List[Any]:
        """ScriptInfo of each script."""
        return list(self.conn.call("Script.List").scripts)

    def load_script(self, index: int, source: Source) -> Any:
        """Replace a script: a file (the `tunewire` tool compiles .tws and assembles .txt) or encoded bytes."""
        if isinstance(source, (bytes, bytearray)) or not os.fspath(source).endswith(".tws"):
            return self._load_script(index, _translate(source, ("script", "asm")))
        pointers = 2  # the last one shows the script's memory; which one that is, its graph says
        while True:
            verb = ("script", "compile", "--script", str(index), "--pointers", str(pointers), "-t", self.conn.uri)
            try:
                return self._load_script(index, _translate(source, verb, ".tws"))
            except DeviceError as e:
                if e.detail != SCR_BAD_PTR or pointers == 6:
                    raise
            pointers += 1

    def _load_script(self, index: int, code: bytes) -> Any:
        s, code_bytes = self.conn.schema, 0
        if code[:4] == b"TWS1":  # literals behind the code
            code_bytes, code = int.from_bytes(code[4:6], "little"), code[8:]
        request = s.ScriptLoad(index=index, crc=crc32c(code), code_bytes=code_bytes)
        what = f"script {index}"
        if len(code) <= INLINE_MAX:
            request.code = code
            return self.staged("Script.Load", request, what)
        with self._blob(code, KIND_SCRIPT, what) as blob:
            request.blob = blob.number
            return self.staged("Script.Load", request, what)

    def run_script(self, index: int, *args: int, budget: int = 0) -> Any:
        """Run a script once; ScriptResult has its registers."""
        return self.conn.call("Script.Run", self.conn.schema.ScriptRun(index=index, args=list(args), budget=budget))

    def stop_script(self, index: int) -> None:
        """Disable a script."""
        self.conn.call("Script.Stop", self.conn.schema.ScriptRef(index=index))

    def debug(self, script: int = 0, stop_graph: bool = False, faults: bool = True,
              lease_s: float = 60.0) -> ScriptDebug:
        """Attach the debugger of the graph's scripts; one client has it at a time (Busy otherwise).

        stop_graph  stop the graph where a script is held; `go` starts it again
        faults      keep a call that faults to be looked at
        lease_s     silent for so long, it is detached
        """
        return ScriptDebug(self, script, stop_graph, faults, lease_s)

    script_debug = debug

    def trace(self, script: Optional[int] = None, instructions: bool = False,
              seconds: Optional[float] = None) -> Feed[Any]:
        """Events of one script or of all, as they happen: seq, tick, kind, script, where, value, number, text, lost.

        Kinds: 1 fault, 2 event, 3 trace, 7 callapp, 8 held or let go, 16 instruction, 17 call.
        """
        c, s = self.conn, self.conn.schema
        request = s.ScriptTrace(index=script or 0, all=script is None, kinds=0xFFFFFFFF if instructions else 0)
        stream = c.call("Script.Trace", request)
        return Feed(c, stream, lambda data: schema.parse(s.Event(), data), lambda st: c.cancel(st.call_id), seconds,
                    None, _NO_DEADLINE_S)

    def _blob(self, data: bytes, kind: int, name: str, progress: Progress = None) -> _Blob:
        return _Blob(self, self.upload(data, kind, name, progress))

    def upload(self, data: bytes, kind: int = KIND_RAW, name: str = "", progress: Progress = None) -> int:
        """Send bytes to the device and commit them; returns the blob number. Goes on after a lost connection."""
        c, s, data = self.conn, self.conn.schema, bytes(data)
        sha = hashlib.sha256(data).digest() if c.call_key is not None else b""
        request = s.BlobOpen(name=name, kind=kind, size=len(data), crc32c=crc32c(data), sha256=sha)
        while True:
            stream = c.open_stream()
            try:
                state = c.call("Blob.Open", request, stream=stream)
                request.token = state.token
                c.write_stream(stream, data[state.next_offset:], state.next_offset, state.chunk, progress)
                c.call("Blob.Commit", s.BlobRef(blob=state.blob))
                return state.blob
            except ConnectionLost as e:
                if not c.alive:
                    c.survive(e)
                if not request.token:
                    raise
            except DeviceError:
                if request.token:
                    self.abort(state.blob)
                raise
            finally:
                c.close_stream(stream)

    def abort(self, blob: int) -> None:
        """Free a blob; that it is gone already is fine."""
        try:
            self.conn.call("Blob.Abort", self.conn.schema.BlobRef(blob=blob))
        except (DeviceError, Timeout):
            pass

    def log(self, from_seq: int = 0, limit: int = 256) -> List[Any]:
        """LogLines kept by the device: seq, t_us, level, src, text."""
        c, s = self.conn, self.conn.schema
        stream = c.call("Log.Read", s.LogRead(from_seq=from_seq, limit=limit))
        return c.messages(stream, lambda data: schema.parse(s.LogLine(), data), limit or 1 << 16)

    def follow_log(self, seconds: Optional[float] = None, min_level: int = 0) -> Feed[Any]:
        """LogLines as they are written, until closed or the time is over. min_level: 1 error .. 4 debug, 0 all."""
        c, s = self.conn, self.conn.schema
        stream = c.call("Log.Follow", s.LogFilter(min_level=min_level))
        return Feed(c, stream, lambda data: schema.parse(s.LogLine(), data), lambda st: c.cancel(st.call_id), seconds,
                    None, _NO_DEADLINE_S)

    @property
    def gpio(self) -> Gpio:
        """The device's pins."""
        return Gpio(self)


class Gpio:
    """Pins of a device: bits of a word, pin 0 the lowest."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def get(self) -> Any:
        """GpioState: value, direction (bit set = output), t_us."""
        c = self.device.conn
        return c.call("Gpio.Get", c.schema.GpioRef())

    def __getitem__(self, pin: int) -> bool:
        """Level of a pin."""
        return bool(self.get().value >> _pin(pin) & 1)

    def __setitem__(self, pin: int, level: object) -> None:
        """Make a pin an output at this level."""
        self.set(1 << _pin(pin), 1 << pin if level else 0)

    def set(self, mask: int, value: int) -> Any:
        """Make the pins of `mask` outputs at the levels of `value`, all or none; GpioState afterwards."""
        c = self.device.conn
        return c.call("Gpio.Set", c.schema.GpioSet(mask=mask, value=value))

    def watch(self, seconds: Optional[float] = None) -> Feed[Any]:
        """GpioState: what there is, then each change, until closed or the time is over."""
        c, s = self.device.conn, self.device.conn.schema
        stream = c.call("Gpio.Watch", s.GpioRef())
        return Feed(c, stream, lambda data: schema.parse(s.GpioState(), data), lambda st: c.cancel(st.call_id), seconds,
                    None, _NO_DEADLINE_S)


def _pin(pin: int) -> int:
    if not 0 <= pin < 32:
        raise IndexError(f"pin {pin}: pins are 0 to 31")
    return pin


class _Blob:
    """A blob that is freed when its use fails; a use that succeeds consumes it."""

    def __init__(self, device: Device, number: int) -> None:
        self.device, self.number = device, number

    def __enter__(self) -> _Blob:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None and issubclass(kind, DeviceError):
            self.device.abort(self.number)


def _translate(source: Source, verb: Tuple[str, ...], suffix: str = ".txt") -> bytes:
    """Bytes of a source: itself, a binary file, or a text file put through `tunewire VERB`."""
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    path = os.fspath(source)
    if not path.endswith(suffix):
        with open(path, "rb") as f:
            return f.read()
    tool = os.environ.get("TUNEWIRE_TOOL") or shutil.which("tunewire")
    if tool is None:
        raise TunewireError(f"{path} is text and needs the `tunewire` tool on PATH (or TUNEWIRE_TOOL)")
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "out.bin")
        run = subprocess.run([tool, *verb, path, "-o", out], capture_output=True, text=True)
        if run.returncode:
            raise TunewireError(run.stderr.strip())
        with open(out, "rb") as f:
            return f.read()
