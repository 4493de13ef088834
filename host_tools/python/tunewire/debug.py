"""A debugger of one device's scripts: breakpoints, steps, registers and memory while the graph goes on."""
from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from .errors import BadValue, DeviceError, Timeout

if TYPE_CHECKING:
    from .device import Device

# Types of script values: name, format of their memory image; None is shown as its bits (docs/SCRIPT_ISA.md).
TYPES: Tuple[Tuple[str, Optional[str]], ...] = (
    ("int8", "b"), ("uint8", "B"), ("int16", "h"), ("uint16", "H"), ("int32", "i"), ("uint32", "I"), ("time32", "I"),
    ("int64", "q"), ("uint64", "Q"), ("fp8a", None), ("fp8b", None), ("fp16", "e"), ("fp32", "f"), ("fp64", "d"),
    ("ptr", None), ("char", "B"))
REGISTERS: Dict[str, int] = {"r0": 0, "r1": 1, "r2": 2, "r3": 3, "r4": 4, "r5": 5, "lc": 12, "s0": 14, "s1": 15,
                             "T": 16, "used": 17}
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
STATES = ("detached", "free", "held", "going", "dead")
_MEMORY, _CODE, _POINTER, _STACK = 1, 2, 3, 4
_WAIT_MS, _PEEK, _POKE = 500, 512, 64
Number = Union[int, float]


def _type_code(name: str) -> int:
    for code, (known, _) in enumerate(TYPES):
        if known == name:
            return code
    raise BadValue(f"no type {name!r}: one of {', '.join(t for t, _ in TYPES)}")


def _from_bits(code: int, bits: int) -> Number:
    form = TYPES[code][1] if code < len(TYPES) else None
    if form is None:
        return bits
    value: Number = struct.unpack_from("<" + form, struct.pack("<Q", bits))[0]
    return value


def _to_bits(code: int, value: Number) -> int:
    form = TYPES[code][1]
    if form is None:
        raise BadValue(f"a {TYPES[code][0]} cannot be set")
    try:
        return int.from_bytes(struct.pack("<" + form, value), "little")
    except struct.error as e:
        raise BadValue(f"{value!r} is no {TYPES[code][0]}: {e}") from None


class Stop:
    """Where the debugger stands: `state` "free", "held", "going" or "dead", `why`, and of a held call what it sees."""

    def __init__(self, m: Any) -> None:
        self.state = STATES[m.state] if m.state < len(STATES) else str(m.state)
        self.why, self.number, self.stops, self.tick = m.text, m.number, m.stops, m.tick
        self.missed, self.passed, self.entry = m.missed, m.passed, m.script
        self.used, self.budget, self.lc, self.T, self.errors = m.used, m.budget, m.lc, m.t, m.errors
        self.types = [TYPES[t][0] for t in m.r_types]
        self.r = [_from_bits(t, bits) for t, bits in zip(m.r_types, m.r)]
        self.stack = [_from_bits(t, bits) for t, bits in zip(m.top_types, m.top)]
        self.pointers = list(m.p)
        self.frames = [(f.script, f.pc) for f in m.frames]
        self.graph_held = m.graph_held

    @property
    def held(self) -> bool:
        """A call is held and can go on."""
        return self.state == "held"

    @property
    def script(self) -> Optional[int]:
        """Script of the next instruction."""
        return self.frames[0][0] if self.frames else None

    @property
    def pc(self) -> Optional[int]:
        """Byte of the next instruction."""
        return self.frames[0][1] if self.frames else None

    def __repr__(self) -> str:
        at = f" script {self.script} at {self.pc:#06x}," if self.pc is not None else ""
        return f"<{self.state}:{at} {self.why}>"


class ScriptDebug:
    """The debugger of the device's graph. With `with`, detached at the end; a held call then goes on.

    While a call of a script is held the graph goes on as if that script were absent. `go`, `step`, ... return where
    they stopped, and raise Timeout when nothing was held in time.
    """

    def __init__(self, device: Device, script: int = 0, stop_graph: bool = False, faults: bool = True,
                 lease_s: float = 60.0) -> None:
        self.device, self.script, self.attached = device, script, False
        c = device.conn
        request = c.schema.DebugAttach(stop_graph=stop_graph, faults=faults, lease_ms=max(1, round(lease_s * 1000)))
        self._stops = c.call("Script.Attach", request).stops
        self.attached = True

    # ---- breakpoints --------------------------------------------------------------------
    def _condition(self, b: Any, when: str) -> None:
        words = when.split()
        if len(words) != 3 or words[0] not in REGISTERS or words[1] not in OPERATORS:
            raise BadValue(f"{when!r} is not 'REGISTER OPERATOR NUMBER' such as 'r1 >= 5'")
        b.if_what, b.if_op = REGISTERS[words[0]], 1 + OPERATORS.index(words[1])
        try:
            whole = words[2].lower().startswith("0x") or not set(words[2].lower()) & set(".en")
            b.if_type = _type_code("int64" if whole else "fp64")
            b.if_bits = _to_bits(b.if_type, int(words[2], 0) if whole else float(words[2]))
        except ValueError:
            raise BadValue(f"{words[2]!r} is not a number") from None

    def _set(self, b: Any, when: str, skip: int, once: bool, script: Optional[int]) -> int:
        c = self.device.conn
        b.script, b.skip, b.once = self.script if script is None else script, skip, once
        if when:
            self._condition(b, when)
        reply = c.call("Script.Break", c.schema.DebugBreak(op=1, breakpoint=b))
        number: int = reply.breakpoints[0].number
        return number

    def break_at(self, pc: int, when: str = "", skip: int = 0, once: bool = False, script: Optional[int] = None) -> int:
        """Hold before the instruction at byte `pc`; returns the breakpoint's number.

        when   "r1 > 5": only then
        skip   so many hits do not hold
        """
        return self._set(self.device.conn.schema.DebugBreakpoint(kind=1, at=pc), when, skip, once, script)

    def watch(self, register: str, when: str = "", skip: int = 0, once: bool = False,
              script: Optional[int] = None) -> int:
        """Hold after an instruction of the script that changed r0..r5, lc, s0, s1 or T."""
        if register not in REGISTERS:
            raise BadValue(f"no register {register!r}")
        b = self.device.conn.schema.DebugBreakpoint(kind=2, what=REGISTERS[register])
        return self._set(b, when, skip, once, script)

    def watch_memory(self, at: int, size: int = 4, when: str = "", skip: int = 0, once: bool = False,
                     script: Optional[int] = None) -> int:
        """Hold after an instruction that changed `size` bytes of the script's memory."""
        return self._set(self.device.conn.schema.DebugBreakpoint(kind=3, at=at, bytes=size), when, skip, once, script)

    def breakpoints(self) -> List[Any]:
        """DebugBreakpoint of each, with their hits."""
        return list(self.device.conn.call("Script.Break", self.device.conn.schema.DebugBreak(op=0)).breakpoints)

    def clear(self, number: int = 0) -> None:
        """Forget one breakpoint, or all of them."""
        s = self.device.conn.schema
        self.device.conn.call("Script.Break", s.DebugBreak(op=2, breakpoint=s.DebugBreakpoint(number=number)))

    # ---- going on -------------------------------------------------------------------------
    def _stop(self, m: Any) -> Stop:
        self._stops = m.stops
        return Stop(m)

    def state(self) -> Stop:
        """How things stand."""
        return self._stop(self.device.conn.call("Script.State", self.device.conn.schema.DebugRef()))

    def _go(self, op: int, timeout: float, end_counts: bool, **fields: int) -> Stop:
        c, end = self.device.conn, time.monotonic() + timeout
        wait = min(_WAIT_MS, max(1, round(timeout * 1000)))
        # a script that was held since we last looked is told, not gone on with
        stop = self._stop(c.call("Script.Go", c.schema.DebugGo(op=op, wait_ms=wait, stops=self._stops, **fields)))
        while stop.state not in ("held", "dead") and not (end_counts and stop.state == "free"):
            if time.monotonic() >= end:
                raise Timeout(f"no script was held within {timeout:g} s")
            stop = self._stop(c.call("Script.State", c.schema.DebugRef(wait_ms=wait)))
        return stop

    def go(self, timeout: float = 5.0) -> Stop:
        """Continue until a script is held."""
        return self._go(0, timeout, False)

    def step(self, count: int = 1, timeout: float = 5.0) -> Stop:
        """Execute so many instructions."""
        return self._go(1, timeout, True, count=count)

    def next(self, timeout: float = 5.0) -> Stop:
        """One instruction; calls at once."""
        return self._go(2, timeout, True)

    def finish(self, timeout: float = 5.0) -> Stop:
        """To the end of the routine or script."""
        return self._go(3, timeout, True)

    def until(self, pc: int, script: Optional[int] = None, timeout: float = 5.0) -> Stop:
        """To an address."""
        return self._go(4, timeout, True, pc=pc, script=self.script if script is None else script)

    def hold(self, script: Optional[int] = None, timeout: float = 5.0) -> Stop:
        """Hold what goes on, or the script's next call."""
        return self._go(5, timeout, False, script=self.script if script is None else script)

    def drop(self) -> Stop:
        """Forget the held call: it never ends."""
        c = self.device.conn
        return self._stop(c.call("Script.Go", c.schema.DebugGo(op=6)))

    # ---- looking and changing -----------------------------------------------------------------
    def __getitem__(self, register: str) -> Number:
        """Value of "r0".."r5", "lc", "s0", "s1", "T" or "used" of the held call."""
        stop = self.state()
        if register not in REGISTERS or not stop.frames:
            raise BadValue(f"no register {register!r}" if stop.frames else "no script is held")
        if register[0] == "r":
            return stop.r[REGISTERS[register]]
        if register in ("s0", "s1"):
            depth = int(register[1])
            if depth >= len(stop.stack):
                raise BadValue(f"the stack is not so deep: {register}")
            return stop.stack[depth]
        return int(getattr(stop, register))

    def set(self, register: str, value: Number, type: str = "") -> None:
        """Change a register of the held call; its type stays unless another one is named."""
        c = self.device.conn
        if register not in REGISTERS:
            raise BadValue(f"no register {register!r}")
        code = _type_code(type) if type else self._type_of(register)
        request = c.schema.DebugPoke(index=REGISTERS[register], type=code, bits=_to_bits(code, value))
        c.call("Script.Poke", request)

    def _type_of(self, register: str) -> int:
        m = self.device.conn.call("Script.State", self.device.conn.schema.DebugRef())
        if register[0] == "r":
            return m.r_types[REGISTERS[register]] if m.frames else _type_code("int64")
        if register in ("s0", "s1") and int(register[1]) < len(m.top_types):
            return m.top_types[int(register[1])]
        return _type_code("int64")

    def __setitem__(self, register: str, value: Number) -> None:
        self.set(register, value)

    def _read(self, space: int, index: int, at: int, size: int) -> bytes:
        c, out = self.device.conn, b""
        while len(out) < size:
            n = min(size - len(out), _PEEK)
            part = c.call("Script.Peek", c.schema.DebugPeek(space=space, index=index, at=at + len(out), bytes=n)).data
            out += part
            if len(part) < n:
                break
        return out

    def memory(self, at: int = 0, size: int = 64, script: Optional[int] = None) -> bytes:
        """Bytes of a script's memory, as many as there are."""
        return self._read(_MEMORY, self.script if script is None else script, at, size)

    def window(self, pointer: int, at: int = 0, size: int = 64) -> bytes:
        """Bytes of what p0..p5 of the held call point to, from the start of their window."""
        return self._read(_POINTER, pointer, at, size)

    def code(self, script: Optional[int] = None) -> bytes:
        """Code and literals as they are installed."""
        return self._read(_CODE, self.script if script is None else script, 0, 1 << 16)

    def whole_stack(self) -> List[Tuple[str, Number]]:
        """(type, value) of each entry, lowest first."""
        c = self.device.conn
        out: List[Tuple[str, Number]] = []
        while True:
            data = c.call("Script.Peek", c.schema.DebugPeek(space=_STACK, at=len(out), bytes=32)).data
            for i in range(0, len(data), 9):
                bits = struct.unpack_from("<Q", data, i + 1)[0]
                out.append((TYPES[data[i]][0], _from_bits(data[i], bits)))
            if len(data) < 32 * 9:
                return out

    def write_memory(self, at: int, data: bytes, script: Optional[int] = None) -> None:
        """Change bytes of a script's memory; up to 64 at a time happen in one block."""
        self._write(_MEMORY, self.script if script is None else script, at, data)

    def write_window(self, pointer: int, at: int, data: bytes) -> None:
        """Change bytes of what p0..p5 of the held call point to."""
        self._write(_POINTER, pointer, at, data)

    def _write(self, space: int, index: int, at: int, data: bytes) -> None:
        c = self.device.conn
        for i in range(0, len(data), _POKE):
            c.call("Script.Poke", c.schema.DebugPoke(space=space, index=index, at=at + i, data=data[i:i + _POKE]))

    # ---- the end ----------------------------------------------------------------------------------
    def detach(self, drop: bool = False) -> None:
        """Leave; a held call goes on, or is dropped. May be called again."""
        attached, self.attached = self.attached, False
        if attached:
            try:
                self.device.conn.call("Script.Detach", self.device.conn.schema.DebugDetach(drop=drop))
            except DeviceError:
                pass  # its graph went, or the lease ended

    def __enter__(self) -> ScriptDebug:
        return self

    def __exit__(self, *_: Any) -> None:
        self.detach()
