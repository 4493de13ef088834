"""Tunewire client: tune a running device from Python.

    import tunewire
    dev = tunewire.connect("tcp://127.0.0.1:5600")
    dev.load("graph.twg")
    dev["amplifier.0"]["gain_db"] = -6
    for block in dev.subscribe("in.audio_in_0", seconds=1):
        print(block.tick_us, block.samples[:4])

The messages come from the device itself (Session.Schema), so the package needs the stock protobuf
runtime and no generated file. Everything is synchronous and single-threaded; failures are
exceptions of tunewire.errors with the device's code, detail, place and text.
"""
from .device import Device, Node, Param, Transaction, connect
from .errors import (Aborted, AlreadyExists, Busy, Cancelled, ChecksumError, ConnectionLost, DataLoss, DeadlineExceeded,
                     DeviceError, FailedPrecondition, Internal, InvalidArgument, NotFound, OutOfRange, PermissionDenied,
                     ProtocolError, ResourceExhausted, TunewireError, Unauthenticated, Unavailable, Unimplemented,
                     Unknown, VersionError)

__all__ = [
    "connect", "Device", "Node", "Param", "Transaction", "TunewireError", "DeviceError", "ConnectionLost",
    "ProtocolError", "Aborted", "AlreadyExists", "Busy", "Cancelled", "ChecksumError", "DataLoss", "DeadlineExceeded",
    "FailedPrecondition", "Internal", "InvalidArgument", "NotFound", "OutOfRange", "PermissionDenied",
    "ResourceExhausted", "Unauthenticated", "Unavailable", "Unimplemented", "Unknown", "VersionError",
]
