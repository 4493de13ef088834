"""Exceptions, one class per wire status, so that callers catch what they can handle."""


class TunewireError(Exception):
    """Anything this package raises."""


class ConnectionLost(TunewireError):
    """The device cannot be reached, closed the connection or did not answer in time."""


class ProtocolError(TunewireError):
    """The peer does not speak this protocol, or bytes were damaged beyond use."""


class DeviceError(TunewireError):
    """The device refused a call and changed nothing.

    code    wire status number; detail: the device's finer error number
    where   node, arc, parameter index or byte offset to look at

    Of a Txn.Commit that failed: operation, its number from 1 among those staged, and first_error, the Status the
    device gave it (code, detail, where, text). None otherwise.
    """
    code = 2
    operation = first_error = None
    response = b""

    def __init__(self, code, detail=0, where=0, text="", method=""):
        self.code, self.detail, self.where, self.text, self.method = code, detail, where, text, method
        name = type(self).__name__ if type(self) is not DeviceError else f"status {code}"
        super().__init__(f"{method}: {text or name} ({name}, detail {detail}, where {where})")


def _kind(name, code, doc):
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


def from_status(status, method=""):
    cls = BY_CODE.get(status.code, DeviceError)
    return cls(status.code, status.detail, status.where, status.text, method)
