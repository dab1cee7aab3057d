"""Runs child processes. Each has a process group of its own, and is ended together with its descendants.

To run a program, subclass `Child` and override its `on_` methods.
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
"""How long to read output after the process has ended. A descendant may keep the streams open for longer."""

KILLED_SECONDS = 5.0
"""How long to wait for the end of a killed process. A busy machine or a broken device may delay its end."""

MAX_LINE_BYTES = 12_000
"""The maximum length of a line of stderr. The rest of a longer line is dropped.

The limit must be far higher than what callers show, because `redact` does not recognise a truncated secret.
"""

MAX_LINES_PER_CHUNK = 1000
"""The maximum number of lines to report per read of stderr, to keep the event loop free.

If a read has more lines, only the last ones are reported.
"""

KEPT_LINES = 5

_NOT_TEXT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""Matches terminal escape sequences and control characters."""


class Child(asyncio.SubprocessProtocol):
    """One run of a program. Belongs to the event loop that created it."""

    def __init__(
        self,
        *,
        closed_seconds: float = LAST_OUTPUT_SECONDS,
        ends_its_group: bool = True,
        kept_lines: int = KEPT_LINES,
    ) -> None:
        """
        Args:
            closed_seconds: seconds that the process may continue to run after it closed its stdin or stdout.
            ends_its_group: whether to kill the descendants that are left when the process ends by itself.
            kept_lines: the maximum number of lines in `last_lines`.
        """
        self.pid = 0
        self.return_code: int | None = None
        """The exit code, which is negative for a signal on POSIX; None while the process runs."""

        self.last_lines: deque[str] = deque(maxlen=kept_lines)
        """The last lines of stderr, which may contain secrets."""

        self._closed_seconds = closed_seconds
        self._ends_its_group = ends_its_group
        self._spares_group = False
        """Whether the process group must not receive any further signal."""

        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._why: str | None = None
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._outputs: set[int] = set()
        """The streams of output that are still open."""

        self._exited = False
        self._line = bytearray()
        self._deadline: asyncio.TimerHandle | None = None

    # -- overridden by subclasses

    def on_output(self, data: bytes) -> None:
        """Handle a chunk of stdout."""

    def on_line(self, line: str) -> None:
        """Handle a line of stderr, without its line ending and escape sequences."""

    def on_unusable(self, why: str) -> None:
        """Handle a process that has ended or is being ended. Called once, with the value of `why`."""

    def on_end(self) -> None:
        """Handle a process that has ended and whose output was read. Called once, after `on_unusable`."""

    # -- used by callers

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
        """Start the program without a shell. Call it only once.

        Args:
            argv: the program and its arguments.
            env: all of the program's environment variables.
            directory: the working directory; None for the working directory of this process.
            umask: the program's umask; -1 for the umask of this process.
            stdin: a pipe, or `subprocess.DEVNULL`.
            stderr: a pipe, or `subprocess.DEVNULL`.

        Raises:
            OSError: the program cannot be started.
        """
        # In its own group, the program can be ended with its descendants, and Ctrl-C does not reach it.
        group: dict[str, Any] = {"start_new_session": True, "umask": umask}
        if sys.platform == "win32":
            group = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
        try:
            await self._loop.subprocess_exec(
                lambda: self, *argv, env=dict(env), cwd=directory, stdin=stdin, stderr=stderr, **group
            )
        except ValueError as error:
            # Arguments and variables cannot contain null characters.
            raise OSError(str(error)) from error

    @property
    def running(self) -> bool:
        """Whether the process can be used: it has not ended and is not being ended."""
        return self._why is None

    @property
    def why(self) -> str | None:
        """Why the process ended or is ending, as a clause ("it ended with exit code 3"); None until then."""
        return self._why

    async def wait_until_ended(self) -> str:
        """Wait until the process has ended and its output has been read, and return `why`."""
        return await asyncio.shield(self._ended)

    def pause_output(self) -> None:
        """Stop reading stdout, so that the process waits once the pipe is full."""
        if (output := self._open_stdout()) is not None:
            output.pause_reading()

    def resume_output(self) -> None:
        """Continue to read stdout."""
        if (output := self._open_stdout()) is not None:
            output.resume_reading()

    def _open_stdout(self) -> asyncio.ReadTransport | None:
        transport = self._transport.get_pipe_transport(1) if self._transport is not None else None
        if isinstance(transport, asyncio.ReadTransport) and not transport.is_closing():
            return transport
        return None

    def write(self, data: bytes) -> None:
        """Write to stdin without waiting. The data is dropped if the process can no longer be used."""
        if self._stdin is not None and self._why is None and not self._stdin.is_closing():
            self._stdin.write(data)

    async def stop(self, seconds: float) -> None:
        """End the process group: close stdin, then send SIGTERM, then SIGKILL.

        Args:
            seconds: how long to wait before SIGKILL. SIGTERM is sent after half of this time. If the caller
                is cancelled meanwhile, the process group is killed immediately.
        """
        self._set_unusable("it was stopped")
        if self._transport is None or self._ended.done():
            return
        if self._stdin is not None:
            self._stdin.close()
        try:
            if not await self._wait_for_end(seconds / 2):
                self._signal_group(signal.SIGTERM)
                await self._wait_for_end(seconds / 2)
        finally:
            self.kill()
        if not await self._wait_for_end(KILLED_SECONDS):
            # The event loop may end before the process does, and must not leave streams open.
            self._transport.close()

    def kill(self, why: str = "it was stopped") -> None:
        """Kill the process group immediately, unless the process has ended."""
        if not self._ended.done():
            self._set_unusable(why)
            self._kill_group()

    # -- callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Handle the start of the process."""
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 - narrows for the type checker
        self._transport = transport
        self.pid = transport.get_pid()
        stdin = transport.get_pipe_transport(0)
        assert stdin is None or isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - as above
        self._stdin = stdin
        self._outputs = {fd for fd in (1, 2) if transport.get_pipe_transport(fd) is not None}
        if not self.running:
            # `stop` or `kill` was called while the process was starting.
            self._kill_group()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Handle output of the process."""
        if fd == 1:
            self.on_output(data)
        else:
            self._handle_stderr(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Handle the end of one of the streams."""
        self._outputs.discard(fd)
        if self._exited:
            self._settle_if_read()
        # A process that has closed its stdin or stdout must end soon.
        elif (fd == 1 or (fd == 0 and self.running)) and self._deadline is None:
            self._set_deadline(self._closed_seconds, f"it closed its {'output' if fd else 'input'}")

    def process_exited(self) -> None:
        """Handle the exit of the process. Descendants may still run, and output may be unread."""
        assert self._transport is not None  # noqa: S101 - it has exited, so it had started
        self._exited = True
        self.return_code = self._transport.get_returncode()
        # Spare the group only if the process has ended by itself. If the group was already being ended, kill
        # it again, because new processes may have joined it.
        self._spares_group = self.running and not self._ends_its_group
        self._kill_group()
        self._set_deadline(LAST_OUTPUT_SECONDS, "")
        self._settle_if_read()

    # -- the end of the process

    def _settle_if_read(self) -> None:
        if not self._outputs:
            self._settle()

    def _set_deadline(self, seconds: float, why: str) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self._loop.call_later(seconds, self._handle_deadline, why)

    def _handle_deadline(self, why: str) -> None:
        self._deadline = None
        if self._exited:
            # Another process has the streams open. Ignore its output.
            self._settle()
        # If the process is gone, `process_exited` will report its exit code, which says more than `why`.
        elif not self._is_gone():
            self.kill(why)

    def _is_gone(self) -> bool:
        """Whether the process has exited but the event loop has not called `process_exited` yet."""
        is_gone = False
        if sys.platform == "linux":
            try:
                is_gone = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            except ChildProcessError:  # asyncio has already collected the exit code.
                is_gone = True
        return is_gone

    def _settle(self) -> None:
        if self._ended.done():
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._handle_stderr(b"\n")  # Report a last line that has no line ending.
        self._set_unusable(_exit_clause(self.return_code))
        assert self._transport is not None  # noqa: S101 - it has exited, so it had started
        assert self._why is not None  # noqa: S101 - `_set_unusable` has set it
        if self._stdin is not None and self._stdin.get_write_buffer_size():
            # `close` would wait until another process has read the data that is left in the buffer.
            self._stdin.abort()
        self._transport.close()
        self._ended.set_result(self._why)
        self.on_end()

    def _set_unusable(self, why: str) -> None:
        if self._why is None:
            self._why = why
            self.on_unusable(why)

    async def _wait_for_end(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.wait_until_ended()
        except TimeoutError:
            return False
        return True

    def _kill_group(self) -> None:
        if sys.platform != "win32":
            self._signal_group(signal.SIGKILL)
        elif self._transport is not None and not self._exited:
            # After the exit, Windows cannot find the children by the process id, which it may have reused.
            process = self._transport.get_extra_info("subprocess")
            # Use a thread, because `taskkill` takes a moment and this runs on the event loop.
            threading.Thread(target=_kill_tree, args=(process,), daemon=True).start()

    def _signal_group(self, number: signal.Signals) -> None:
        if sys.platform != "win32" and self.pid and not self._spares_group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    # -- stderr

    def _handle_stderr(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        left_out = len(whole) - MAX_LINES_PER_CHUNK
        if left_out > 0:
            self._line.clear()
            self.on_line(f"({left_out} lines were left out)")
        for piece in whole[-MAX_LINES_PER_CHUNK:]:
            self._grow_line(piece)
            line = _NOT_TEXT.sub("", self._line.decode("utf-8", "replace")).rstrip()
            self._line.clear()
            if line:
                self.last_lines.append(line)
                self.on_line(line)
        self._grow_line(rest)

    def _grow_line(self, piece: bytes) -> None:
        self._line += piece[: MAX_LINE_BYTES - len(self._line)]


def _exit_clause(code: int | None) -> str:
    if code is not None and code < 0:
        return f"it was killed by signal {-code}"
    return f"it ended with exit code {code}"


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a Windows process with its descendants. Blocks until they have ended."""
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
