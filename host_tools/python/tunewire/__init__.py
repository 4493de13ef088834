"""Tunewire client: tune a running device from Python.

    import tunewire
    dev = tunewire.connect("tcp://127.0.0.1:5600")
    dev.load("graph.twg")
    dev["amplifier.0"]["gain_db"] = -6
    for block in dev.subscribe("in.audio_in_0", seconds=1):
        print(block.tick_us, block.samples[:4])

The messages come from the device itself (Session.Schema), so the package needs the stock protobuf
runtime and no generated file. Everything is synchronous: there are no threads inside, and a Device
belongs to one thread at a time. Failures are exceptions of tunewire.errors, all of them TunewireError.
"""
from .arcs import Block, Capture, Feed, Probe, Recording
from .debug import ScriptDebug, Stop
from .device import Device, Node, Param, Shadow, Transaction, connect
from .errors import (Aborted, AlreadyExists, BadValue, Busy, Cancelled, ChecksumError, ConnectionLost, DataLoss,
                     DeadlineExceeded, DeviceError, FailedPrecondition, InvalidArgument, NotFound, OutOfRange,
                     PermissionDenied, ProtocolError, ResourceExhausted, Timeout, TunewireError, Unauthenticated,
                     Unavailable, Unimplemented, UnknownName, VersionError)

__all__ = [
    "connect", "Device", "Node", "Param", "Transaction", "Block", "Capture", "Feed",
    "Probe", "Recording", "ScriptDebug", "Shadow", "Stop", "TunewireError", "DeviceError",
    "BadValue", "ConnectionLost", "ProtocolError", "Timeout", "UnknownName", "Aborted", "AlreadyExists", "Busy",
    "Cancelled", "ChecksumError", "DataLoss", "DeadlineExceeded", "FailedPrecondition", "InvalidArgument", "NotFound",
    "OutOfRange", "PermissionDenied", "ResourceExhausted", "Unauthenticated", "Unavailable", "Unimplemented",
    "VersionError",
]
