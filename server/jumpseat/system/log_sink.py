"""Writes log lines to a descriptor of any kind without blocking."""

from __future__ import annotations

import errno
import os
import select
import sys
from contextlib import suppress

from jumpseat.system.nonblocking import NonBlockingDescriptor


class LogSink:
    """An output for log lines: a file, pipe, socket, terminal or device."""

    def __init__(self, descriptor: int) -> None:
        """Take ownership of the descriptor.

        Raises:
            OSError: the descriptor is not open.
        """
        self._output = NonBlockingDescriptor(descriptor, os.O_WRONLY)

    def write(self, data: bytes) -> int:
        """Write as many bytes as possible without blocking, and return their number.

        Raises:
            BlockingIOError: no data can be written now.
            OSError: the reader is gone, or the file cannot be written.
        """
        # Windows cannot poll descriptors, so a write may block the writing thread there.
        if self._output.may_block and sys.platform != "win32":
            poll = select.poll()
            poll.register(self._output.fileno, select.POLLOUT)
            if not poll.poll(0):
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            # A ready pipe accepts this much without blocking, unless another process writes to it in between.
            data = data[: select.PIPE_BUF]
        return self._output.write(data)

    def close(self) -> None:
        """Close the descriptor."""
        with suppress(OSError):
            self._output.close()
