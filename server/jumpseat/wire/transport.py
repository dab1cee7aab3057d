"""Moves bytes between two descriptors and the event loop, without blocking the loop.

`polled` handles pipes and sockets; `threads` handles files, terminals, and all descriptors on Windows.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from jumpseat.wire.polled import PolledReader, PolledWriter
from jumpseat.wire.threads import ThreadedReader, ThreadedWriter

HIGH_WATER = 1024 * 1024
"""If at least this many bytes are buffered, `Transport.wait_until_ready` waits."""

FLOOD_WATER = 16 * HIGH_WATER
"""If at least this many bytes are buffered, input is no longer read.

Turns pause long before that, but a client that sends requests without reading the responses reaches this
number.
"""


class Input(Protocol):
    """The reading half, which calls back with each piece of input and at the end of the input."""

    @property
    def ended(self) -> asyncio.Event:
        """Set when the descriptor is closed."""

    def pause(self) -> None:
        """Stop reading until `resume`; a piece that was already read may still be passed on."""

    def resume(self) -> None:
        """Continue reading."""

    def close(self) -> None:
        """Close the descriptor."""


class Writer(Protocol):
    """The writing half."""

    @property
    def ended(self) -> asyncio.Event:
        """Set when the descriptor is closed."""

    @property
    def buffered(self) -> int:
        """The number of bytes that are not written yet."""

    def write(self, data: bytes) -> None:
        """Write immediately as far as possible, and buffer the rest."""

    def notify_below(self, limit: int) -> None:
        """Call the progress callback as soon as at most `limit` bytes are buffered."""

    def close(self) -> None:
        """Close the descriptor; buffered bytes are lost."""


class Transport:
    """The byte transport of one connection. Created by `open_fds`; belongs to one event loop."""

    def __init__(self, on_data: Callable[[bytes], None], on_eof: Callable[[], None]) -> None:
        self._on_data = on_data
        self._on_eof = on_eof
        self._input: Input | None = None
        self._output: Writer | None = None
        self._ended = False
        """Whether the end of the input was reported, or `close` was called, which does not report it."""

        self._held = False
        """Whether the input is paused until `resume_input`."""

        self._output_gone = False
        self._closed = False
        self._waiting: set[tuple[int, asyncio.Future[None]]] = set()

    @property
    def buffered(self) -> int:
        """The number of written bytes that the operating system has not accepted yet."""
        return 0 if self._output is None or self._output_gone else self._output.buffered

    def write(self, data: bytes) -> None:
        """Write immediately as far as possible, and buffer the rest. Drop the data if the reader is gone."""
        if self._output is not None and not self._output_gone and not self._closed:
            self._output.write(data)
            if self._output.buffered >= FLOOD_WATER and self._input is not None:
                self._input.pause()

    def pause_input(self) -> None:
        """Stop reading until `resume_input`; a piece that was already read may still be passed on."""
        self._held = True
        if self._input is not None:
            self._input.pause()

    def resume_input(self) -> None:
        """Continue reading, unless too much output is buffered."""
        self._held = False
        self._handle_progress()

    async def wait_until_ready(self, limit: int = HIGH_WATER - 1) -> None:
        """Wait until at most `limit` bytes are buffered, or nothing more can be written."""
        while self.buffered > limit and not self._closed:
            entry = (limit, asyncio.get_running_loop().create_future())
            self._waiting.add(entry)
            try:
                self._update_limit()
                await entry[1]
            finally:
                self._waiting.discard(entry)
                self._update_limit()

    async def flush(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until the buffer is empty; return True if everything was written."""
        # Wait for one iteration of the event loop, in which a failure of the last write is reported.
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(timeout):
                await self.wait_until_ready(0)
        except TimeoutError:
            return False
        return not self._output_gone

    def close(self) -> None:
        """Close both descriptors immediately. Buffered bytes are lost unless you flush first."""
        if self._closed:
            return
        self._closed = self._ended = True
        if self._input is not None:
            self._input.close()
        if self._output is not None:
            self._output.close()
        self._handle_progress()

    async def aclose(self, timeout: float) -> None:
        """Close the transport, and wait at most `timeout` seconds until the descriptors are closed."""
        self.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                for half in (self._input, self._output):
                    if half is not None:
                        await half.ended.wait()

    def _update_limit(self) -> None:
        if self._output is not None and not self._closed and not self._output_gone:
            self._output.notify_below(min((limit for limit, _ in self._waiting), default=HIGH_WATER - 1))

    def _handle_progress(self) -> None:
        if self._input is not None and not self._closed and not self._held and self.buffered < HIGH_WATER:
            self._input.resume()
        for _, future in self._waiting:
            if not future.done():
                future.set_result(None)

    def _handle_data(self, data: bytes) -> None:
        if not self._ended:
            self._on_data(data)

    def _handle_end_of_input(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_eof()

    def _handle_lost_output(self) -> None:
        self._output_gone = True
        self._handle_progress()
        self._handle_end_of_input()


def open_fds(
    read_fd: int, write_fd: int, *, on_data: Callable[[bytes], None], on_eof: Callable[[], None]
) -> Transport:
    """Open a transport on two descriptors of any kind.

    The transport owns the descriptors from then on. If it cannot be opened, the descriptors are closed.

    Args:
        read_fd: the input.
        write_fd: the output; may be the same socket as `read_fd`.
        on_data: called on the event loop with each non-empty piece of input, but not before this
            function returns.
        on_eof: called once, when the input has ended or the reader of our output is gone, but never after
            `close`. Output can still be written after the input has ended.

    Raises:
        OSError: a descriptor is not open.
    """
    loop = asyncio.get_running_loop()
    transport = Transport(on_data, on_eof)
    unowned = {read_fd, write_fd}
    try:
        for fd in (read_fd, write_fd):
            os.fstat(fd)
        if write_fd == read_fd:
            write_fd = os.dup(read_fd)
            unowned.add(write_fd)
        writer = PolledWriter if _can_poll(write_fd) else ThreadedWriter
        transport._output = writer(loop, write_fd, transport._handle_progress, transport._handle_lost_output)
        unowned.discard(write_fd)
        reader = PolledReader if _can_poll(read_fd) else ThreadedReader
        transport._input = reader(loop, read_fd, transport._handle_data, transport._handle_end_of_input)
    except OSError:
        transport.close()
        for fd in unowned:
            with suppress(OSError):
                os.close(fd)
        raise
    return transport


def _can_poll(fd: int) -> bool:
    """Whether to let the event loop poll this descriptor."""
    # The loop cannot poll regular files, the null device, terminals on macOS, or plain pipes on Windows.
    mode = os.fstat(fd).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
