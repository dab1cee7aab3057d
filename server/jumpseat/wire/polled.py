"""Reads and writes pipes and sockets in non-blocking mode; `threads` handles other descriptors.

asyncio's writer is unsuitable: it resumes its user only when its buffer is empty, and treats a socket as
closed when the other side has shut down only its sending half.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections.abc import Callable


class PolledReader(asyncio.Protocol):
    """The protocol of asyncio's read pipe."""

    def __init__(self, on_data: Callable[[bytes], None], on_eof: Callable[[], None]) -> None:
        self._on_data = on_data
        self._on_eof = on_eof

    def data_received(self, data: bytes) -> None:
        """A piece of input."""
        self._on_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        """The input has ended."""
        self._on_eof()


class PolledWriter:
    """Writes to `fd` at once and buffers the rest."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_progress: Callable[[], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._on_progress = on_progress
        self._on_lost = on_lost
        self._limit = 0
        self._buffer = bytearray()
        self._closed = False
        self._is_socket = stat.S_ISSOCK(os.fstat(fd).st_mode)
        os.set_blocking(fd, False)
        # The write end becomes "readable" when its last reader closes it.
        loop.add_reader(fd, self._reader_changed)

    @property
    def buffered(self) -> int:
        """Bytes that are not written yet."""
        return len(self._buffer)

    def write(self, data: bytes) -> None:
        """Write now if the buffer is empty; buffer the rest."""
        if self._closed:
            return
        if not self._buffer:
            written = self._try(data)
            if written == len(data) or self._closed:
                return
            self._loop.add_writer(self._fd, self._writable)
            self._buffer += memoryview(data)[written:]
        else:
            self._buffer += data

    def notify_below(self, limit: int) -> None:
        """Call `on_progress` after each write that leaves at most `limit` bytes."""
        self._limit = limit

    def close(self) -> None:
        """Close the descriptor; buffered bytes are lost."""
        if self._closed:
            return
        self._closed = True
        self._buffer.clear()
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        os.close(self._fd)

    def _try(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._fd, data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self._lose()
            return 0

    def _writable(self) -> None:
        written = self._try(self._buffer)
        if self._closed:
            return
        del self._buffer[:written]
        if not self._buffer:
            self._loop.remove_writer(self._fd)
        if len(self._buffer) <= self._limit:
            self._on_progress()

    def _reader_changed(self) -> None:
        if self._is_socket and not self._hung_up():
            # Unexpected data, or a half-closed socket: writing may go on. Stop polling; a later write
            # detects a closed socket.
            self._loop.remove_reader(self._fd)
        else:
            self._lose()

    def _hung_up(self) -> bool:
        poll = select.poll()
        poll.register(self._fd, 0)
        return bool(poll.poll(0))

    def _lose(self) -> None:
        self.close()
        # Not from inside `write`: its caller may be in an inconsistent state.
        self._loop.call_soon(self._on_lost)


class PolledSocket(asyncio.Protocol):
    """One socket for both directions; a half-closed one can still be written."""

    def __init__(
        self,
        on_data: Callable[[bytes], None],
        on_eof: Callable[[], None],
        on_progress: Callable[[], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._on_data = on_data
        self._on_progress = on_progress
        self._on_eof = on_eof
        self._on_lost = on_lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the asyncio transport, which buffers."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - narrows for the type checker
        self._socket = transport

    @property
    def buffered(self) -> int:
        """Bytes that are not written yet."""
        return self._socket.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        """Write now if the buffer is empty; buffer the rest."""
        self._socket.write(data)

    def notify_below(self, limit: int) -> None:
        """Call `on_progress` after each write that leaves at most `limit` bytes."""
        # Equal limits: asyncio pauses above the first and resumes below the second.
        self._socket.set_write_buffer_limits(high=limit, low=limit)

    def close(self) -> None:
        """Close the socket; buffered bytes are lost."""
        self._socket.abort()

    def data_received(self, data: bytes) -> None:
        """A piece of input."""
        self._on_data(data)

    def resume_writing(self) -> None:
        """At most the limit of `notify_below` is buffered."""
        self._on_progress()

    def eof_received(self) -> bool:
        """The other side closed its sending half only; keep the socket."""
        self._on_eof()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """Neither direction works any more."""
        self._on_lost()
