"""Reads and writes descriptors that the event loop cannot poll, each in a separate thread."""

from __future__ import annotations

import asyncio
import contextvars
import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from jumpseat.system.nonblocking import NonBlockingDescriptor

CHUNK = 16 * 1024
"""The size of one read or write, in bytes."""


class _ThreadControl:
    """A helper that interrupts the waits of a thread, and notifies the event loop when the thread ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.ended = asyncio.Event()
        self._loop = loop
        # This is the session's context, which determines the log. A thread does not inherit the context.
        self._context = contextvars.copy_context()
        self._woken = False
        self._wake_fd, self._wake_write_fd = os.pipe()

    def call(self, callback: Callable[..., None], *args: object) -> None:
        """Make the event loop run a callback, unless the loop is already closed."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *args, context=self._context)

    def wake(self) -> None:
        """Interrupt the current wait and all later ones."""
        self._woken = True
        with suppress(OSError):  # The thread has ended.
            os.write(self._wake_write_fd, b"x")

    def wait(self, stream: NonBlockingDescriptor, *, write: bool) -> bool:
        """Wait until the stream is ready; return False if the wait was interrupted."""
        if sys.platform == "linux":
            poll = select.poll()
            poll.register(self._wake_fd, select.POLLIN)
            poll.register(stream.fileno, select.POLLOUT if write else select.POLLIN)
            poll.poll()
        elif sys.platform != "win32":
            # macOS's `poll` does not support terminals. On Windows, only sockets support such a wait, so the
            # read or write itself blocks there.
            writes = [stream.fileno] if write else []
            reads = [self._wake_fd] if write else [self._wake_fd, stream.fileno]
            select.select(reads, writes, [])
        return not self._woken

    def end(self, stream: NonBlockingDescriptor) -> None:
        """Close the descriptors, as the thread's last step."""
        # If they were closed anywhere else, their numbers could be reused while this thread still uses them.
        stream.close()
        os.close(self._wake_fd)
        self.call(self._finish)

    def _finish(self) -> None:
        # Only the event loop's thread uses this descriptor, so that `wake` cannot write to a reused number.
        os.close(self._wake_write_fd)
        self._wake_write_fd = -1
        self.ended.set()


class ThreadedReader:
    """A reader that reads `fd` until the end of the input, and passes the pieces to the event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_data: Callable[[bytes], None],
        on_eof: Callable[[], None],
    ) -> None:
        self._control = _ThreadControl(loop)
        self._input = NonBlockingDescriptor(fd, os.O_RDONLY)
        self._on_data = on_data
        self._on_eof = on_eof
        self._closed = self._paused = False
        self._withholds_permit = False
        # The thread needs the permit to pass on a chunk. The event loop returns the permit after handling the
        # chunk, so other connections are served in between.
        self._permit = threading.Semaphore(1)
        # Start a daemon thread: a non-daemon thread that is blocked in a read would keep the process alive.
        threading.Thread(target=self._run, name="jumpseat-read", daemon=True).start()

    @property
    def ended(self) -> asyncio.Event:
        """Set when the descriptor is closed."""
        return self._control.ended

    def close(self) -> None:
        """Stop passing on input, and end the thread without another read."""
        self._closed = True
        self._permit.release()
        self._control.wake()

    def _run(self) -> None:
        # Do not read again after the end of the input: what a terminal sends later is for its next reader.
        while self._control.wait(self._input, write=False):
            try:
                data = self._input.read(CHUNK)
            except BlockingIOError:  # Another process has read the input.
                continue
            except OSError:
                # The input has ended, for example because a terminal hung up.
                data = b""
            if not data:
                self._control.call(self._end)
                break
            self._permit.acquire()
            self._control.call(self._deliver, data)
        self._control.end(self._input)

    def pause(self) -> None:
        """Stop passing on input until `resume`, except for the chunk that was already read."""
        self._paused = True

    def resume(self) -> None:
        """Continue passing on input."""
        if self._paused:
            self._paused = False
            if self._withholds_permit:
                self._withholds_permit = False
                self._permit.release()

    def _deliver(self, data: bytes) -> None:
        if not self._closed:
            self._on_data(data)
        if self._paused:
            self._withholds_permit = True
        else:
            self._permit.release()

    def _end(self) -> None:
        if not self._closed:
            self._on_eof()


class ThreadedWriter:
    """A writer that writes to `fd` in order. Only the event loop's thread changes its state."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_progress: Callable[[], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._control = _ThreadControl(loop)
        self._output = NonBlockingDescriptor(fd, os.O_WRONLY)
        self._on_progress = on_progress
        self._on_lost = on_lost
        self._closed = False
        self._limit = 0
        self._buffered = 0
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        threading.Thread(target=self._run, name="jumpseat-write", daemon=True).start()

    @property
    def ended(self) -> asyncio.Event:
        """Set when the descriptor is closed."""
        return self._control.ended

    @property
    def buffered(self) -> int:
        """The number of bytes that the thread has not written yet."""
        return self._buffered

    def write(self, data: bytes) -> None:
        """Queue `data` for the thread."""
        self._buffered += len(data)
        self._queue.put(data)

    def notify_below(self, limit: int) -> None:
        """Call `on_progress` after each write that leaves at most `limit` bytes unwritten."""
        self._limit = limit

    def close(self) -> None:
        """Stop writing, and end the thread."""
        self._closed = True
        self._queue.put(None)
        self._control.wake()

    def _run(self) -> None:
        while (data := self._queue.get()) is not None and not self._closed:
            try:
                self._write_all(memoryview(data))
            except OSError:
                self._control.call(self._report_loss)
                break
        self._control.end(self._output)

    def _write_all(self, data: memoryview) -> None:
        while data and self._control.wait(self._output, write=True):
            try:
                written = self._output.write(data[:CHUNK])
            except BlockingIOError:  # Another process has filled the buffer.
                continue
            data = data[written:]
            self._control.call(self._count_written, written)

    def _count_written(self, count: int) -> None:
        self._buffered -= count
        if self._buffered <= self._limit:
            self._on_progress()

    def _report_loss(self) -> None:
        if not self._closed:
            self._on_lost()
