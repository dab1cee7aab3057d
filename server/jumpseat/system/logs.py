"""Logs of several sessions in one process. Each has its own level and sink, and one thread writes them all.

A record goes to the log of its context (`log_to`). If the context has no log, or that log is closed, the
record goes to the log of the process.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from jumpseat.system.log_sink import LogSink
from jumpseat.system.secrets import SecretFilter

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

MAX_LINES = 1000
MAX_BYTES = 1 << 20
"""The maximum number of lines and bytes that wait for a sink. Further lines are dropped."""

CLOSE_SECONDS = 0.3
"""The time limit for writing the last lines of a log."""

RETRY_SECONDS = (0.02, 0.64)
"""The first and the longest pause before writing to a blocked sink again."""

QUIET_LIBRARIES = ("httpx2", "httpcore2", "asyncio", "pygls", "filelock")
"""Loggers that write URLs, headers or bodies at levels below warning."""

SILENT_LIBRARIES = ("mcp", "client")
"""Loggers that write bodies and tokens even in errors. We report these errors ourselves.

`client` is a logger of the package `mcp`.
"""

_current: ContextVar[Log | None] = ContextVar("jumpseat_log", default=None)


class Log:
    """The log of one session or of the process, with its unwritten lines. Created by `open_log`."""

    def __init__(self, level: int, sink: LogSink | None) -> None:
        self.level = level
        self.closing = False
        self.blocked = False
        """Whether the sink was blocked at the last attempt. The writing thread tries again."""

        self._sink = sink
        self._lock = threading.Lock()
        # An `int` is the number of lines that were dropped at this point.
        self._lines: deque[bytes | int] = deque()
        self._bytes = 0
        self._rest = b""
        """The part of a line that the sink has not accepted yet."""

        self._lost = 0
        """The number of lines that were lost because the sink failed. `put` counts them as dropped."""

        self._deadline = float("inf")
        self._on_closed: list[Callable[[], None]] = []

    def put(self, line: bytes) -> None:
        """Queue a line, or count it as dropped if the queue is full."""
        with self._lock:
            full = len(self._lines) >= MAX_LINES or self._bytes + len(line) > MAX_BYTES
            dropped, self._lost = self._lost + full, 0
            if dropped and self._lines and isinstance(self._lines[-1], int):
                self._lines[-1] += dropped
            elif dropped:
                self._lines.append(dropped)
            if not full:
                self._lines.append(line)
                self._bytes += len(line)

    async def aclose(self) -> None:
        """Write the queued lines within `CLOSE_SECONDS`, and close the sink."""
        loop = asyncio.get_running_loop()
        closed = asyncio.Event()

        def on_closed() -> None:
            with suppress(RuntimeError):  # The event loop may be closed.
                loop.call_soon_threadsafe(closed.set)

        self._close(on_closed)
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * CLOSE_SECONDS):
                await closed.wait()

    def close(self) -> None:
        """Close the log as `aclose` does, but block."""
        closed = threading.Event()
        self._close(closed.set)
        closed.wait(2 * CLOSE_SECONDS)

    def _close(self, on_closed: Callable[[], None]) -> None:
        with self._lock:
            self.closing = True
            self._deadline = time.monotonic() + CLOSE_SECONDS
            self._on_closed.append(on_closed)
        _writer.wake()

    def write_some(self) -> bool:
        """Write lines until the sink blocks; return whether it accepted data. For the writing thread only."""
        progress = self.blocked = False
        # Stop after some lines. Otherwise a log that grows as fast as it is written would block the others.
        for _ in range(MAX_LINES):
            line = self._rest or self._next()
            if not line:
                break
            try:
                self._rest = line[self._sink.write(line) :] if self._sink is not None else b""
                progress = True
            except BlockingIOError:
                self._rest = line
                self.blocked = True
                break
            except OSError:
                # Count the line as dropped. Writing a line about the error would fail too.
                self._rest = b""
                self._lost += 1
        return progress

    def is_empty(self) -> bool:
        """Whether all lines have been written."""
        return not self._rest and not self._lines

    def is_due(self) -> bool:
        """Whether to end a closing log, because all lines have been written or the time is up."""
        with self._lock:
            return self.closing and (self.is_empty() or time.monotonic() >= self._deadline)

    def end(self) -> None:
        """Close the sink. For the writing thread only."""
        if self._sink is not None:
            self._sink.close()
        for on_closed in self._on_closed:
            on_closed()

    def _next(self) -> bytes:
        with self._lock:
            if not self._lines:
                return b""
            line = self._lines.popleft()
            if isinstance(line, bytes):
                self._bytes -= len(line)
                return line
        text = f"{line} log lines were dropped here, because the log was not read in time"
        record = logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, None, None)
        return _line_of(record)


class _Writer(logging.Handler):
    """The handler of the root logger, with the writing thread. Both are active while a log is open."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self._has_work = False
        """Whether a log may have new lines."""

        self._logs: list[Log] = []
        self._process_log: Log | None = None
        """The log of the process."""

        self._level_before = logging.WARNING
        self.addFilter(self._is_logged)
        # Check the level before this filter, which takes longer: it searches the text for every secret.
        self.addFilter(SecretFilter())

    def add(self, log: Log, *, is_fallback: bool) -> None:
        with self._changed:
            root = logging.getLogger()
            if not self._logs:
                self._level_before = root.level
                root.addHandler(self)
                for name in QUIET_LIBRARIES:
                    logging.getLogger(name).setLevel(logging.WARNING)
                for name in SILENT_LIBRARIES:
                    logging.getLogger(name).setLevel(logging.CRITICAL + 1)
                threading.Thread(target=self._run, name="jumpseat-log", daemon=True).start()
            self._logs.append(log)
            if is_fallback:
                self._process_log = log
            root.setLevel(min(each.level for each in self._logs))

    def wake(self) -> None:
        """Wake the writing thread to look for lines."""
        if not self._has_work:
            with self._changed:
                self._has_work = True
                self._changed.notify()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record's line in its log."""
        log = self._log_of_context()
        if log is not None:
            log.put(_line_of(record))
            if not log.blocked:
                self.wake()

    def _log_of_context(self) -> Log | None:
        log = _current.get()
        # Shared work may outlive the session that started it.
        return self._process_log if log is None or log.closing else log

    def _is_logged(self, record: logging.LogRecord) -> bool:
        log = self._log_of_context()
        return log is not None and record.levelno >= log.level

    def _run(self) -> None:
        shortest, longest = RETRY_SECONDS
        pause = shortest
        while True:
            progress = [log.write_some() for log in self._logs]
            for log in list(self._logs):
                if log.is_due() and self._end(log):
                    return
            blocked = any(log.blocked for log in self._logs)
            if any(progress) or any(log.closing for log in self._logs):
                pause = shortest
            can_wait = all(log.blocked or log.is_empty() for log in self._logs)
            with self._changed:
                if can_wait and not self._has_work:
                    self._changed.wait(pause if blocked else None)
                    pause = min(2 * pause, longest)
                self._has_work = False

    def _end(self, log: Log) -> bool:
        """Close and remove a log. Return whether it was the last log, in which case the thread must end."""
        with self._changed:
            self._logs.remove(log)
            if self._process_log is log:
                self._process_log = None
            root = logging.getLogger()
            if self._logs:
                root.setLevel(min(each.level for each in self._logs))
            else:
                root.removeHandler(self)
                root.setLevel(self._level_before)
            # Check this under the lock, because `add` starts a new thread if there is no log.
            last = not self._logs
        log.end()
        return last


_writer = _Writer()


def open_log(level: str, sink: LogSink | None, *, is_fallback: bool = False) -> Log:
    """Open a log, which the caller must close.

    Args:
        level: the lowest level to log: a level name of `logging`, in any case.
        sink: the output, which the log owns from now on; None to drop all lines.
        is_fallback: whether this is the log of the process, for records that have no other open log.
    """
    log = Log(logging.getLevelNamesMapping()[level.upper()], sink)
    _writer.add(log, is_fallback=is_fallback)
    return log


@contextmanager
def log_to(log: Log) -> Iterator[None]:
    """Use this log in the current context, and in the tasks and callbacks that are created in it."""
    token = _current.set(log)
    try:
        yield
    finally:
        _current.reset(token)


def _line_of(record: logging.LogRecord) -> bytes:
    text = _formatter.format(record) + "\n"
    return text.encode("utf-8", "backslashreplace")


_formatter = logging.Formatter(FORMAT)
