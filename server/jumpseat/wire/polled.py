"""Reads and writes pipes and sockets that the event loop polls; `threads` handles other descriptors.

asyncio's own transports are unsuitable: they resume a writer only when its buffer is empty, treat a socket as
closed if the other side has only shut down its sending half, and set O_NONBLOCK, a flag that this process may
share with other processes.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Callable

from jumpseat.system.nonblocking import NonBlockingDescriptor

PIECE = 4 * 1024
"""The size of one read, in bytes. Handling this many bytes of small requests takes 1 to 3 ms."""

SLICE_SECONDS = 0.0005
"""The time after which one connection's next read waits until the event loop has served the others."""


class PolledReader:
    """A reader that reads `fd` until the end of the input."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_data: Callable[[bytes], None],
        on_eof: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._on_data = on_data
        self._on_eof = on_eof
        self._input = _open_nonblocking(fd, os.O_RDONLY)
        self._closed = self._at_eof = False
        self._reading = True
        self.ended = asyncio.Event()
        loop.add_reader(self._input.fileno, self._read_available)
        # Read once immediately: a named pipe never becomes readable if its last writer closed it before we
        # opened it.
        loop.call_soon(self._read_available)

    def close(self) -> None:
        """Close the descriptor."""
        if not self._closed:
            self._closed = True
            self.pause()
            _restore_and_close(self._input)
            self.ended.set()

    def pause(self) -> None:
        """Stop reading until `resume`."""
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._input.fileno)

    def resume(self) -> None:
        """Continue reading."""
        if not self._reading and not self._at_eof and not self._closed:
            self._reading = True
            self._loop.add_reader(self._input.fileno, self._read_available)

    def _read_available(self) -> None:
        until = self._loop.time() + SLICE_SECONDS
        while self._reading:
            try:
                data = self._input.read(PIECE)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:  # The input has ended, for example because the socket was reset.
                data = b""
            if not data:
                self.pause()
                self._at_eof = True
                self._on_eof()
                return
            self._on_data(data)
            if len(data) < PIECE or self._loop.time() >= until:
                return


class PolledWriter:
    """A writer that writes to `fd` immediately as far as possible, and buffers the rest."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_progress: Callable[[], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._on_progress = on_progress
        self._on_lost = on_lost
        self._limit = 0
        self._buffer = bytearray()
        self._closed = False
        self._output = _open_nonblocking(fd, os.O_WRONLY)
        self.ended = asyncio.Event()
        # The write end becomes "readable" when the last reader closes the read end.
        loop.add_reader(self._output.fileno, self._check_reader)

    @property
    def buffered(self) -> int:
        """The number of bytes that are not written yet."""
        return len(self._buffer)

    def write(self, data: bytes) -> None:
        """Write now if the buffer is empty; buffer the rest."""
        if self._closed:
            return
        if not self._buffer:
            written = self._try_write(data)
            if written == len(data) or self._closed:
                return
            self._loop.add_writer(self._output.fileno, self._write_buffered)
            self._buffer += memoryview(data)[written:]
        else:
            self._buffer += data

    def notify_below(self, limit: int) -> None:
        """Call `on_progress` after each write that leaves at most `limit` bytes unwritten."""
        self._limit = limit

    def close(self) -> None:
        """Close the descriptor; buffered bytes are lost."""
        if self._closed:
            return
        self._closed = True
        self._buffer.clear()
        self._loop.remove_reader(self._output.fileno)
        self._loop.remove_writer(self._output.fileno)
        _restore_and_close(self._output)
        self.ended.set()

    def _try_write(self, data: bytes | bytearray) -> int:
        try:
            return self._output.write(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self._close_and_report()
            return 0

    def _write_buffered(self) -> None:
        written = self._try_write(self._buffer)
        if self._closed:
            return
        del self._buffer[:written]
        if not self._buffer:
            self._loop.remove_writer(self._output.fileno)
        if len(self._buffer) <= self._limit:
            self._on_progress()

    def _check_reader(self) -> None:
        if not self._has_hung_up():
            # The descriptor is readable for another reason: unexpected data, a half-closed socket, or a named
            # pipe that is also open for reading. Writing may continue, so only stop polling. A later write
            # detects a closed reader.
            self._loop.remove_reader(self._output.fileno)
        else:
            self._close_and_report()

    def _has_hung_up(self) -> bool:
        if sys.platform != "win32":
            poll = select.poll()
            poll.register(self._output.fileno, 0)
            return bool(poll.poll(0))
        raise NotImplementedError  # `transport` does not poll on Windows.

    def _close_and_report(self) -> None:
        self.close()
        # Do not call `on_lost` from inside `write`, whose caller may be in an inconsistent state.
        self._loop.call_soon(self._on_lost)


def _open_nonblocking(fd: int, access: int) -> NonBlockingDescriptor:
    stream = NonBlockingDescriptor(fd, access)
    # If a pipe cannot be opened again, only O_NONBLOCK keeps it from blocking the loop. `_restore_and_close`
    # clears the flag.
    if sys.platform != "win32" and stream.may_block:
        os.set_blocking(stream.fileno, False)
    return stream


def _restore_and_close(stream: NonBlockingDescriptor) -> None:
    if sys.platform != "win32" and stream.may_block:
        os.set_blocking(stream.fileno, True)
    stream.close()
