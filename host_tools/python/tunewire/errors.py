"""Exceptions, one class per wire status, so that callers catch what they can handle."""
from __future__ import annotations

from typing import Any, Optional


class TunewireError(Exception):
    """Anything this package raises for what happens outside of it."""


class ConnectionLost(TunewireError):
    """The device cannot be reached or the connection ended.

    If the device said why, `__cause__` is the DeviceError it sent.
    """


class Timeout(TunewireError, TimeoutError):
    """No answer in time; the connection itself may be alive."""


class ProtocolError(TunewireError):
    """The peer does not speak this protocol; the connection is closed."""


class UnknownName(TunewireError, KeyError):
    """No node, parameter, arc or message of this name."""

    __str__ = Exception.__str__


class BadValue(TunewireError, ValueError):
    """A value that cannot be written as the parameter's type; nothing was sent."""


class DeviceError(TunewireError):
    """The device refused a call and changed nothing.

    code         wire status number; detail: the device's finer error number
    where        node, arc, parameter index or byte offset to look at
    what         "node.parameter" or the like when the client knows it, else ""
    first_error  of a transaction that failed: the error of the operation `where` (counted from 1)
    """

    code = 2

    def __init__(self, code: int, detail: int = 0, where: int = 0, text: str = "", method: str = "") -> None:
        self.code, self.detail, self.where, self.text, self.method = code, detail, where, text, method
        self.what, self.body = "", b""
        self.first_error: Optional[DeviceError] = None
        super().__init__(code, detail, where, text, method)

    @property
    def operation(self) -> int:
        """Of a transaction that failed: the number of the operation, from 1; else 0."""
        return self.where if self.first_error is not None else 0

    def __str__(self) -> str:
        name = type(self).__name__ if type(self) is not DeviceError else f"status {self.code}"
        about = f" {self.what}" if self.what else ""
        return f"{self.method}{about}: {self.text or name} ({name}, detail {self.detail}, where {self.where})"


def _kind(name: str, code: int, doc: str) -> Any:
    return type(name, (DeviceError,), {"__doc__": doc, "__module__": __name__, "code": code})


Cancelled = _kind("Cancelled", 1, "The call was cancelled.")
Unknown = _kind("Unknown", 2, "The device could not say more.")
InvalidArgument = _kind("InvalidArgument", 3, "A value or message the device cannot accept.")
DeadlineExceeded = _kind("DeadlineExceeded", 4, "Not done in time; nothing is half done.")
NotFound = _kind("NotFound", 5, "No such node, parameter, arc, blob...")
AlreadyExists = _kind("AlreadyExists", 6, "It is there already.")
PermissionDenied = _kind("PermissionDenied", 7, "The role of this connection does not allow it.")
ResourceExhausted = _kind("ResourceExhausted", 8, "Not enough memory or slots on the device.")
FailedPrecondition = _kind("FailedPrecondition", 9, "Not possible in the present state.")
Aborted = _kind("Aborted", 10, "A transaction did not happen; nothing changed.")
OutOfRange = _kind("OutOfRange", 11, "A value outside its range.")
Unimplemented = _kind("Unimplemented", 12, "This device does not offer it.")
Internal = _kind("Internal", 13, "A defect of the device software.")
Unavailable = _kind("Unavailable", 14, "Not now.")
DataLoss = _kind("DataLoss", 15, "Stream offsets do not follow each other.")
Unauthenticated = _kind("Unauthenticated", 16, "A key is needed, or it is wrong.")
Busy = _kind("Busy", 17, "Busy; try again.")
ChecksumError = _kind("ChecksumError", 18, "Bytes arrived damaged.")
VersionError = _kind("VersionError", 19, "Versions do not fit.")

BY_CODE = {c.code: c for c in list(globals().values())
           if isinstance(c, type) and issubclass(c, DeviceError) and c is not DeviceError}


def from_status(status: Any, method: str = "") -> DeviceError:
    """The exception for a Status message."""
    cls = BY_CODE.get(status.code, DeviceError)
    return cls(status.code, status.detail, status.where, status.text, method)
