"""Writes log lines to a descriptor of any kind without blocking."""

from __future__ import annotations

import errno
import os
import select
import sys
from contextlib import suppress

from jumpseat.system.unblocked import Unblocked


class LogSink:
    """One output for log lines: a file, a pipe, a socket, a terminal, or a device."""

    def __init__(self, descriptor: int) -> None:
        """Take over the descriptor.

        Raises:
            OSError: it is not open.
        """
        self._output = Unblocked(descriptor, os.O_WRONLY)

    def write(self, data: bytes) -> int:
        """Write as much as is taken at once; returns the number of bytes.

        Raises:
            BlockingIOError: nothing is taken now.
            OSError: the reader is gone, or the file cannot be written.
        """
        # Windows cannot poll: there a write may block the thread of the log.
        if self._output.may_block and sys.platform != "win32":
            poll = select.poll()
            poll.register(self._output.fileno, select.POLLOUT)
            if not poll.poll(0):
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            # A pipe that is ready takes this much at once, if no other process writes to it in between.
            data = data[: select.PIPE_BUF]
        return self._output.write(data)

    def close(self) -> None:
        """Close the descriptor."""
        with suppress(OSError):
            self._output.close()
