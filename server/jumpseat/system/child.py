"""Child processes: started in a process group of their own, watched, and ended with what they started.

A user subclasses `Child` and overrides its `on_` methods.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LAST_OUTPUT_SECONDS = 0.5
"""How long output is read after the process ended: a process that it left running may hold its streams."""

KILLED_SECONDS = 5.0
"""How long a killed process may take to end: a busy machine ends it late, a broken device perhaps never."""

MAX_LINE_BYTES = 12_000
"""Of one line of stderr; the rest of a longer line is dropped."""
# Far more than any caller shows: `redact` does not recognise half a secret.

MAX_LINES_AT_ONCE = 1000
"""Of one read of stderr; of more, only the last are passed on, so that the event loop stays free."""

KEPT_LINES = 5

PR_SET_PDEATHSIG = 1
"""Of Linux's prctl(2): the signal that a process gets when the thread that started it ends."""

_NOT_TEXT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""Terminal escape sequences and control characters."""


class Child(asyncio.SubprocessProtocol):
    """One run of a program. Belongs to the event loop in which it is created."""

    def __init__(
        self,
        *,
        closed_seconds: float = LAST_OUTPUT_SECONDS,
        ends_its_group: bool = True,
        kept_lines: int = KEPT_LINES,
    ) -> None:
        """
        Args:
            closed_seconds: how long the process may run on after it closed its stdin or stdout.
            ends_its_group: kill what it leaves running when it ends by itself.
            kept_lines: how many lines of stderr `last_lines` keeps.
        """
        self.pid = 0
        self.return_code: int | None = None
        """The exit code, negative for a signal on POSIX; None while it runs."""

        self.last_lines: deque[str] = deque(maxlen=kept_lines)
        """The last lines of its stderr, as it wrote them, secrets included."""

        self._closed_seconds = closed_seconds
        self._ends_its_group = ends_its_group
        self._spares_group = False
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._why: str | None = None
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._outputs: set[int] = set()
        self._exited = False
        self._line = bytearray()
        self._deadline: asyncio.TimerHandle | None = None

    # -- overridden by users

    def on_output(self, data: bytes) -> None:
        """A piece of its stdout."""

    def on_line(self, line: str) -> None:
        """A line of its stderr: bounded, without its end and without escape sequences."""

    def on_unusable(self, why: str) -> None:
        """It has ended or is being ended; called once, with what `why` says."""

    def on_ended(self) -> None:
        """It is gone and its output has been read; called once, after `on_unusable`."""

    # -- used by users

    async def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        directory: Path | None = None,
        umask: int = -1,
        stdin: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> None:
        """Start the program; called once.

        Args:
            argv: program and arguments; there is no shell.
            env: its whole environment.
            directory: its working directory; None for ours.
            umask: its umask; -1 for ours.
            stdin: a pipe, or `subprocess.DEVNULL`.
            stderr: a pipe, or `subprocess.DEVNULL`.

        Raises:
            OSError: it cannot be started.
        """
        # A group of its own: what it starts can be ended with it, and Ctrl-C in a terminal does not reach it.
        group: dict[str, Any] = {"start_new_session": True, "umask": umask}
        if sys.platform == "win32":
            group = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
        try:
            await self._loop.subprocess_exec(
                lambda: self, *argv, env=dict(env), cwd=directory, stdin=stdin, stderr=stderr, **group
            )
        except ValueError as error:
            # A null character, which no argument and no variable can hold.
            raise OSError(str(error)) from error

    @property
    def running(self) -> bool:
        """Whether it can be used: it has not ended and is not being ended."""
        return self._why is None

    @property
    def why(self) -> str | None:
        """What ended it or is ending it, as a clause: "it ended with exit code 3"; None while it runs."""
        return self._why

    async def ended(self) -> str:
        """Wait until it is gone and its output has been read; returns `why`."""
        return await asyncio.shield(self._ended)

    def write(self, data: bytes) -> None:
        """Send to its stdin, without waiting; dropped if it can no longer be used."""
        if self._stdin is not None and self._why is None and not self._stdin.is_closing():
            self._stdin.write(data)

    async def stop(self, seconds: float) -> None:
        """End it: the end of its input, then SIGTERM, then SIGKILL, for its whole process group.

        Args:
            seconds: how long it may take to end by itself, half of it without a signal. If the caller is
                cancelled meanwhile, it is killed at once.
        """
        self._set_unusable("it was stopped")
        if self._transport is None or self._ended.done():
            return
        if self._stdin is not None:
            self._stdin.close()
        try:
            if not await self._ends_within(seconds / 2):
                self._signal_group(signal.SIGTERM)
                await self._ends_within(seconds / 2)
        finally:
            self.kill()
        if not await self._ends_within(KILLED_SECONDS):
            # The event loop may end before the process, and must leave no stream open.
            self._transport.close()

    def kill(self, why: str = "it was stopped") -> None:
        """Kill its whole process group at once, unless it has ended."""
        if not self._ended.done():
            self._set_unusable(why)
            self._kill_group()

    # -- what asyncio reports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 - narrows for the type checker
        self._transport = transport
        self.pid = transport.get_pid()
        stdin = transport.get_pipe_transport(0)
        assert stdin is None or isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - narrows it too
        self._stdin = stdin
        self._outputs = {fd for fd in (1, 2) if transport.get_pipe_transport(fd) is not None}
        if not self.running:
            # It was stopped while it was being started.
            self._kill_group()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
        if fd == 1:
            self.on_output(data)
        else:
            self._take_stderr(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """One of its streams is closed."""
        self._outputs.discard(fd)
        if self._exited:
            self._settle_if_read()
        elif (fd == 1 or (fd == 0 and self.running)) and self._deadline is None:
            self._set_deadline(self._closed_seconds, f"it closed its {'output' if fd else 'input'}")

    def process_exited(self) -> None:
        """The process is gone; what it started may run on, and its last output may be unread."""
        assert self._transport is not None  # noqa: S101 - it has exited, so it had started
        self._exited = True
        self.return_code = self._transport.get_returncode()
        # A group that was being ended is killed once more, for what it has started meanwhile.
        self._spares_group = self.running and not self._ends_its_group
        self._kill_group()
        self._set_deadline(LAST_OUTPUT_SECONDS, "")
        self._settle_if_read()

    # -- the end

    def _settle_if_read(self) -> None:
        if not self._outputs:
            self._settle()

    def _set_deadline(self, seconds: float, why: str) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self._loop.call_later(seconds, self._overdue, why)

    def _overdue(self, why: str) -> None:
        self._deadline = None
        if self._exited:
            # Another process holds its streams; its output is not for us.
            self._settle()
        elif not self._is_gone():
            self.kill(why)

    def _is_gone(self) -> bool:
        """Whether it has exited while the event loop was busy; `process_exited` will be called."""
        is_gone = False
        if sys.platform == "linux":
            try:
                is_gone = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            except ChildProcessError:  # asyncio has its exit code already.
                is_gone = True
        return is_gone

    def _settle(self) -> None:
        if self._ended.done():
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._take_stderr(b"\n")
        self._set_unusable(_exit_clause(self.return_code))
        assert self._transport is not None  # noqa: S101 - it has exited, so it had started
        assert self._why is not None  # noqa: S101 - set above
        if self._stdin is not None and self._stdin.get_write_buffer_size():
            # Closing would wait until another process reads it.
            self._stdin.abort()
        self._transport.close()
        self._ended.set_result(self._why)
        self.on_ended()

    def _set_unusable(self, why: str) -> None:
        if self._why is None:
            self._why = why
            self.on_unusable(why)

    async def _ends_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.ended()
        except TimeoutError:
            return False
        return True

    def _kill_group(self) -> None:
        if sys.platform != "win32":
            self._signal_group(signal.SIGKILL)
        elif self._transport is not None and not self._exited:
            # After the exit, Windows finds nothing by the parent's number and may have reused it.
            process = self._transport.get_extra_info("subprocess")
            # In a thread: `taskkill` takes a moment, and this is the event loop.
            threading.Thread(target=_kill_tree, args=(process,), daemon=True).start()

    def _signal_group(self, number: signal.Signals) -> None:
        if sys.platform != "win32" and self.pid and not self._spares_group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    # -- stderr

    def _take_stderr(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        left_out = len(whole) - MAX_LINES_AT_ONCE
        if left_out > 0:
            self._line.clear()
            self.on_line(f"({left_out} lines were left out)")
        for piece in whole[-MAX_LINES_AT_ONCE:]:
            self._grow_line(piece)
            line = _NOT_TEXT.sub("", self._line.decode("utf-8", "replace")).rstrip()
            self._line.clear()
            if line:
                self.last_lines.append(line)
                self.on_line(line)
        self._grow_line(rest)

    def _grow_line(self, piece: bytes) -> None:
        self._line += piece[: MAX_LINE_BYTES - len(self._line)]


def end_with_parent() -> None:
    """Called by a child of ours, on Linux: have it killed when its parent ends, even if it is stopped."""
    if sys.platform == "linux":
        import ctypes  # Deferred: the parent, which imports this module, does not need it.

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _exit_clause(code: int | None) -> str:
    if code is not None and code < 0:
        return f"it was killed by signal {-code}"
    return f"it ended with exit code {code}"


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of Windows with all that it started; blocks until it is gone."""
    taskkill = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(  # noqa: S603 - the system's own program, by its path
            [taskkill, "/F", "/T", "/PID", str(process.pid)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5.0,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    with contextlib.suppress(OSError):
        process.kill()
