"""Reads and writes inherited descriptors without blocking and without changing their flags.

O_NONBLOCK is a flag of the open file description, which this process may share with a shell or with other
children of an editor. Sockets are therefore used with MSG_DONTWAIT, and pipes and terminals are opened again.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from contextlib import suppress

PTMX = (5, 2)
"""The device numbers of Linux's /dev/ptmx, which creates a new terminal each time it is opened."""


class NonBlockingDescriptor:
    """One direction of a descriptor. Takes ownership of the descriptor."""

    def __init__(self, descriptor: int, access: int) -> None:
        """
        Args:
            descriptor: the descriptor of a file, pipe, socket, terminal or device.
            access: `os.O_RDONLY` or `os.O_WRONLY`.

        Raises:
            OSError: the descriptor is not open.
        """
        self.fileno = descriptor
        self.may_block = False
        """Whether calls may block: on Windows, or if a pipe or terminal cannot be opened again."""

        self._socket: socket.socket | None = None
        mode = os.fstat(descriptor).st_mode
        if sys.platform == "win32":
            self.may_block = True
        elif stat.S_ISSOCK(mode):
            self._socket = socket.socket(fileno=descriptor)
        elif (stat.S_ISFIFO(mode) or os.isatty(descriptor)) and os.get_blocking(descriptor):
            reopened = _open_again(descriptor, access)
            self.may_block = reopened is None
            if reopened is not None:
                os.close(descriptor)
                self.fileno = reopened

    def read(self, count: int) -> bytes:
        """Read at most this many bytes; empty at the end of the input.

        Raises:
            BlockingIOError: no data is available now.
            OSError: reading failed, for example because a terminal hung up.
        """
        if sys.platform != "win32" and self._socket is not None:
            return self._socket.recv(count, socket.MSG_DONTWAIT)
        return os.read(self.fileno, count)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write as many bytes as possible without blocking, and return their number.

        Raises:
            BlockingIOError: no data can be written now.
            OSError: writing failed, for example because the reader is gone.
        """
        if sys.platform != "win32" and self._socket is not None:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        return os.write(self.fileno, data)

    def close(self) -> None:
        """Close the descriptor."""
        if self._socket is not None:
            self._socket.close()
        else:
            os.close(self.fileno)


def _open_again(descriptor: int, access: int) -> int | None:
    """Open a pipe or terminal again, in non-blocking mode; None if the system does not allow that."""
    if sys.platform != "win32":
        paths = [f"/proc/self/fd/{descriptor}"]
        if os.isatty(descriptor):
            device = os.fstat(descriptor).st_rdev
            if (os.major(device), os.minor(device)) == PTMX:
                return None
            with suppress(OSError):
                paths.append(os.ttyname(descriptor))
        for path in paths:
            with suppress(OSError):
                # Without O_NOCTTY, the terminal could become the daemon's controlling terminal.
                return os.open(path, access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    return None
