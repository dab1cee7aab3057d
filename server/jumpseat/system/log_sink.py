"""Writes log lines to a descriptor of any kind without blocking, and without a change to its flags."""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path


class LogSink:
    """One output for log lines: a file, a pipe, a socket, a terminal, or a device."""

    def __init__(self, descriptor: int) -> None:
        """Take over the descriptor.

        Raises:
            OSError: it is not open.
        """
        self._descriptor = descriptor
        self._socket: socket.socket | None = None
        self._piece = 1 << 20
        self._poll_first = False
        if sys.platform == "win32":
            return  # Nothing there can be polled: a write may block the thread of the log.
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISSOCK(mode):
            self._socket = socket.socket(fileno=descriptor)
        elif not stat.S_ISREG(mode) and os.get_blocking(descriptor) and not self._open_again():
            # A pipe that is ready takes this much at once, if no other process writes to it in between.
            self._piece = select.PIPE_BUF
            self._poll_first = True

    def write(self, data: bytes) -> int:
        """Write as much as is taken at once; returns the number of bytes.

        Raises:
            BlockingIOError: nothing is taken now.
            OSError: the reader is gone, or the file cannot be written.
        """
        if self._socket is not None:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        if self._poll_first:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLOUT)
            if not poll.poll(0):
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return os.write(self._descriptor, data[: self._piece])

    def close(self) -> None:
        """Close the descriptor."""
        with suppress(OSError):
            if self._socket is not None:
                self._socket.close()
            else:
                os.close(self._descriptor)

    def _open_again(self) -> bool:
        """Replace a pipe or a terminal by a second open file of the same, which is non-blocking.

        O_NONBLOCK belongs to the open file, which other processes may hold too.
        """
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        paths = [f"/proc/self/fd/{self._descriptor}"]
        with suppress(OSError):
            paths.append(os.ttyname(self._descriptor))
        for path in paths:
            with suppress(OSError):
                own = os.open(path, flags)
                os.close(self._descriptor)
                self._descriptor = own
                return True
        return False


def open_log_file(path: Path) -> LogSink:
    """A sink that appends to this file.

    Raises:
        OSError: it cannot be opened.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    # Without O_NONBLOCK, opening a named pipe waits for its reader.
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
    return LogSink(os.open(path, flags, 0o666))
