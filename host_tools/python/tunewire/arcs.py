"""What arcs carry: raw types, blocks, feeds that end when their reader does, WAV files, levels."""
from __future__ import annotations

import array
import math
import struct
import sys
import time
from typing import IO, Any, Callable, Generic, Iterator, NamedTuple, Optional, TypeVar

from .connection import Connection, Stream
from .errors import BadValue, Timeout, TunewireError

# raw type code -> struct letter; the codes are those of ParamDesc.type and ArcInfo.raw
LETTER = {11: "b", 12: "B", 13: "b", 14: "B", 17: "h", 18: "H", 19: "h", 23: "i", 24: "i", 25: "I", 26: "i",
          27: "f", 30: "q", 31: "Q", 34: "d"}
# Points (RMS, MINMAX) of integer types come in their own numbers, all others as -1..1.
_FULL_SCALE = {11: 2.0 ** 7, 12: 2.0 ** 7, 17: 2.0 ** 15, 18: 2.0 ** 15, 24: 2.0 ** 31, 25: 2.0 ** 31}
_WAV = {12: (1, 1), 17: (1, 2), 19: (1, 2), 24: (1, 4), 26: (1, 4), 27: (3, 4), 34: (3, 8)}  # WAVE format, bytes
_NO_DEADLINE_S = 1e6
Item = TypeVar("Item")


def samples_of(data: bytes, raw: int) -> array.array:
    """Little-endian samples as an array of numbers; bytes when the type has no number in Python."""
    out = array.array(LETTER.get(raw, "B"))
    out.frombytes(data[:len(data) // out.itemsize * out.itemsize])
    if sys.byteorder == "big":
        out.byteswap()
    return out


def decibels(rms: float, raw: int) -> float:
    """Level relative to full scale, -inf for silence."""
    scaled = rms / _FULL_SCALE.get(raw, 1.0)
    return 20 * math.log10(scaled) if scaled > 0 else -math.inf


class Block:
    """Samples of one arc as they were written.

    seq counts blocks made, t_us is the device's clock, dropped the arc frames lost since the subscription began.
    """

    def __init__(self, message: Any) -> None:
        self.seq, self.t_us, self.dropped = message.seq, message.t_us, message.dropped
        self.data = message.data
        self.raw, self.channels = message.format & 0xFF, message.format >> 8 & 0xFF

    @property
    def samples(self) -> array.array:
        """The data as numbers, channels interleaved."""
        return samples_of(self.data, self.raw)


class Feed(Generic[Item]):
    """Items of a running stream. Iterate, or call `read`; `close` (or `with`) ends it on the device.

    A loop that is left early closes the feed as well; only a feed that is kept without being read stays open.
    """

    def __init__(self, conn: Connection, stream: Stream, make: Callable[[bytes], Item],
                 stop: Callable[[Stream], None], seconds: Optional[float], count: Optional[int],
                 patience: float) -> None:
        self._conn, self._stream, self._make, self._stop = conn, stream, make, stop
        self._end = None if seconds is None else time.monotonic() + seconds
        self._left, self._patience = count, patience

    def read(self) -> Optional[Item]:
        """The next item; None at the end, be it of the stream, the time or the count asked for."""
        end = self._end if self._end is not None else time.monotonic() + self._patience
        late = self._end is not None and time.monotonic() >= end
        gone = self._conn.streams.get(self._stream.number) is not self._stream
        if gone and self._stream.error:
            raise self._stream.error
        if late or gone or self._left == 0:
            return None
        try:
            data = self._stream.next(end)
        except Timeout:
            if self._end is not None:
                return None
            raise
        if data is None:
            return None
        if self._left is not None:
            self._left -= 1
        return self._make(data)

    @property
    def waiting(self) -> int:
        """Items that have arrived and were not read yet."""
        return len(self._stream.items)

    def close(self) -> None:
        """End the stream. May be called again."""
        if self._conn.streams.get(self._stream.number) is self._stream:
            try:
                if not self._stream.done and self._conn.alive:
                    self._stop(self._stream)
            except TunewireError:
                pass  # it ended by itself meanwhile, or the connection did
            finally:
                self._conn.streams.pop(self._stream.number, None)

    def __iter__(self) -> Iterator[Item]:
        try:
            item = self.read()
            while item is not None:
                yield item
                item = self.read()
        finally:
            self.close()

    def __enter__(self) -> Feed[Item]:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Capture:
    """Samples of an arc around a trigger, complete.

    `before` points come in front of the one with the trigger, which is sample `sample` since the probe was armed and
    sample `tick_sample` of block `tick`. `missed` triggers so far found no memory free.
    """
    CAUSES = ("now", "level", "flow", "tick", "script", "host", "auto")

    def __init__(self, head: Any, data: bytes) -> None:
        self.number, self.points, self.before, self.every = head.capture, head.points, head.before, head.every
        self.sample, self.tick, self.tick_sample, self.missed = head.sample, head.tick, head.tick_sample, head.missed
        self.cause = self.CAUSES[head.cause] if head.cause < len(self.CAUSES) else str(head.cause)
        self.raw, self.channels, self.kind = head.format & 0xFF, head.format >> 8 & 0xFF, head.format >> 16 & 0xFF
        self.data = data

    @property
    def samples(self) -> array.array:
        """The points as numbers: channels interleaved, for "minmax" pairs of smallest and largest."""
        return samples_of(self.data, self.raw)

    def __repr__(self) -> str:
        return f"<capture {self.number}: {self.cause} at tick {self.tick}+{self.tick_sample}, {self.points} points>"


class Probe:
    """An armed probe. Iterate over its captures, or `read` one; `close` (or `with`) disarms it."""

    def __init__(self, conn: Connection, feed: Feed[Any]) -> None:
        self._conn, self._feed = conn, feed

    @property
    def number(self) -> int:
        """What the device calls it."""
        return self._feed._stream.number

    def read(self) -> Optional[Capture]:
        """The next whole capture; None when there will be no more, or the time is over."""
        head, data = None, b""
        while True:
            piece = self._feed.read()
            if piece is None:
                return None
            if piece.at == 0:
                head, data = piece, b""
            if head is None or piece.capture != head.capture:
                continue
            data += piece.data
            width = samples_of(b"", piece.format & 0xFF).itemsize * (2 if piece.format >> 16 & 0xFF == 1 else 1)
            if len(data) >= head.points * width * max(1, piece.format >> 8 & 0xFF):
                return Capture(head, data)

    def fire(self) -> None:
        """Trigger now, or as soon as the part before the trigger is there."""
        self._conn.call("Probe.Fire", self._conn.schema.ProbeRef(probe=self.number))

    def state(self) -> Any:
        """ProbeState: state, captures, sent, missed, segments, bytes."""
        return self._conn.call("Probe.State", self._conn.schema.ProbeRef(probe=self.number))

    def close(self) -> None:
        """Disarm. May be called again."""
        self._feed.close()

    def __iter__(self) -> Iterator[Capture]:
        try:
            capture = self.read()
            while capture is not None:
                yield capture
                capture = self.read()
        finally:
            self.close()

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Recording(NamedTuple):
    """What `Device.record` wrote; `dropped` arc frames are missing in the file."""
    path: str
    frames: int
    dropped: int


class WavFile:
    """A WAV file of an arc's samples, complete after `with` even when it was left by an exception."""

    def __init__(self, path: str, info: Any) -> None:
        if info.raw not in _WAV:
            raise BadValue(f"{info.name or info.arc}: samples of raw type {info.raw} do not fit a WAV file")
        self.path, self.kind, self.bytes = path, _WAV[info.raw], 0
        self.channels, self.rate = max(1, info.channels), int(info.rate) or 48000

    def _header(self) -> bytes:
        code, width = self.kind
        frame = width * self.channels
        form = struct.pack("<HHIIHH", code, self.channels, self.rate, self.rate * frame, frame, width * 8)
        return (b"RIFF" + struct.pack("<I", 36 + self.bytes) + b"WAVEfmt " + struct.pack("<I", len(form)) + form
                + b"data" + struct.pack("<I", self.bytes))

    def __enter__(self) -> WavFile:
        self.file: IO[bytes] = open(self.path, "wb")
        self.file.write(self._header())
        return self

    def write(self, data: bytes) -> None:
        """Append samples."""
        self.file.write(data)
        self.bytes += len(data)

    def __exit__(self, *_: Any) -> None:
        self.file.seek(0)
        self.file.write(self._header())
        self.file.close()
