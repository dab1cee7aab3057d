"""Reads and writes descriptors that the event loop cannot poll, each in a thread of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

CHUNK = 64 * 1024
"""Bytes of one read or write."""

_CHUNKS_AHEAD = 4
"""Chunks that the reading thread passes to the event loop before it waits."""


class ThreadedReader:
    """Reads `fd` until its end and passes the pieces to the event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_data: Callable[[bytes], None],
        on_eof: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._on_data = on_data
        self._on_eof = on_eof
        self._closed = False
        self._room = threading.Semaphore(_CHUNKS_AHEAD)
        # A daemon thread: one that is blocked in a read must not keep the process alive.
        threading.Thread(target=self._run, name="jumpseat-read", daemon=True).start()

    def close(self) -> None:
        """Pass on nothing more. The thread ends after its current read."""
        self._closed = True
        self._room.release()

    def _run(self) -> None:
        # RuntimeError: the event loop is already closed.
        with suppress(RuntimeError):
            while not self._closed:
                try:
                    data = os.read(self._fd, CHUNK)
                except OSError:
                    # For example a terminal that hung up: the end of input.
                    data = b""
                if not data:
                    self._loop.call_soon_threadsafe(self._end)
                    break
                self._room.acquire()
                self._loop.call_soon_threadsafe(self._deliver, data)
        # Only here: closed elsewhere, the number could be reused while this thread still reads from it.
        os.close(self._fd)

    def _deliver(self, data: bytes) -> None:
        self._room.release()
        if not self._closed:
            self._on_data(data)

    def _end(self) -> None:
        if not self._closed:
            self._on_eof()


class ThreadedWriter:
    """Writes to `fd` in order; only the event loop changes the state."""

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
        self._closed = False
        self._limit = 0
        self._buffered = 0
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        threading.Thread(target=self._run, name="jumpseat-write", daemon=True).start()

    @property
    def buffered(self) -> int:
        """Bytes that the thread has not written yet."""
        return self._buffered

    def write(self, data: bytes) -> None:
        """Queue `data` for the thread."""
        self._buffered += len(data)
        self._queue.put(data)

    def notify_below(self, limit: int) -> None:
        """Call `on_progress` after each write that leaves at most `limit` bytes."""
        self._limit = limit

    def close(self) -> None:
        """Write nothing more. The thread ends after its current write."""
        self._closed = True
        self._queue.put(None)

    def _run(self) -> None:
        with suppress(RuntimeError):
            while (data := self._queue.get()) is not None and not self._closed:
                try:
                    self._write_all(memoryview(data))
                except OSError:
                    self._loop.call_soon_threadsafe(self._lost)
                    break
        os.close(self._fd)

    def _write_all(self, data: memoryview) -> None:
        while data and not self._closed:
            written = os.write(self._fd, data[:CHUNK])
            data = data[written:]
            self._loop.call_soon_threadsafe(self._wrote, written)

    def _wrote(self, count: int) -> None:
        self._buffered -= count
        if self._buffered <= self._limit:
            self._on_progress()

    def _lost(self) -> None:
        if not self._closed:
            self._on_lost()
