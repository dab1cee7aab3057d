"""A program as the other side of a peer: started, spoken to on its standard streams, ended with all it began.

Above it are adapters that talk to a language server; below it `peer` and the event loop's own processes.
It knows no method names. Framing that breaks is fatal: what is lost between two messages may be an answer.
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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpseat.wire.peer import Peer

LAST_OUTPUT_SECONDS = 0.5
"""After the program's end; what it has left running may hold its streams for ever."""

STALL_SECONDS = 30.0
"""A program that has taken nothing of what it was sent for this long reads no more."""

MAX_LINE_BYTES = 12_000
"""Of a line of its stderr; the rest of a longer one is dropped. Whoever shows it takes secrets out and shows
much less: a secret that is cut in two is no longer known for one."""

MAX_LINES_AT_ONCE = 1000
"""Of one piece of its stderr; of more only the last are told, because the event loop has others to serve."""

LAST_WORDS_LINES = 5

_NOT_TEXT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""Colours and other orders to a terminal."""


async def start_child(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    directory: Path | None = None,
    on_notification: Callable[[str, Any], None],
    on_request: Callable[[str, Any], Awaitable[Any]],
    on_log: Callable[[str], None],
    stall_seconds: float = STALL_SECONDS,
) -> Child:
    """Start a program in a process group of its own.

    Args:
        argv: program and arguments; there is no shell.
        env: its whole environment.
        directory: where it runs; None for our own working directory.
        on_notification: as for `Peer`.
        on_request: as for `Peer`.
        on_log: called with each line of its stderr, bounded, without the line's end.
        stall_seconds: how long it may take nothing of what it was sent.

    Raises:
        OSError: it cannot be started.
    """
    child = Child(on_notification, on_request, on_log, stall_seconds)
    group: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        group = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    try:
        await asyncio.get_running_loop().subprocess_exec(
            lambda: _Streams(child), *argv, env=dict(env), cwd=directory, **group
        )
    except ValueError as error:
        # A null character, which no argument and no variable can hold.
        raise OSError(str(error)) from error
    return child


class Child:
    """A program that runs, until it does not. Made by `start_child`; belongs to its event loop."""

    def __init__(
        self,
        on_notification: Callable[[str, Any], None],
        on_request: Callable[[str, Any], Awaitable[Any]],
        on_log: Callable[[str], None],
        stall_seconds: float,
    ) -> None:
        self.peer = Peer(
            self._write,
            on_notification=on_notification,
            on_request=on_request,
            on_malformed=lambda reason: self._give_up(f"it sent something that is no message ({reason})"),
        )
        self.pid = 0
        self._on_log = on_log
        self._stall_seconds = stall_seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._why: str | None = None
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._open = {0, 1, 2}
        self._exited = False
        self._sent = 0
        self._line = bytearray()
        self._last_lines: deque[str] = deque(maxlen=LAST_WORDS_LINES)
        self._stall: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        """Whether it can still be spoken to."""
        return self._why is None

    @property
    def why(self) -> str | None:
        """What has ended it, or is ending it, as `ended` gives it; None while it can be spoken to."""
        return self._why

    @property
    def last_words(self) -> str:
        """The last lines of its stderr, bounded; as it wrote them, secrets included."""
        return "\n".join(self._last_lines)

    def forget_last_words(self) -> None:
        """What it has written to its stderr so far says nothing of how it will end."""
        self._last_lines.clear()

    async def ended(self) -> str:
        """Wait for its end; gives what has ended it, as a clause: "it ended with exit code 3"."""
        return await asyncio.shield(self._ended)

    async def stop(self, seconds: float) -> None:
        """End it: the end of its input, then SIGTERM, then SIGKILL, to all that it has started too.

        Args:
            seconds: how long it may take to end by itself, half of it without a signal. Whoever is cancelled
                while waiting has it killed at once.
        """
        self._close_peer("it was stopped")
        if self._transport is None or self._ended.done():
            return
        stdin = self._transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        try:
            if not await self._ends_within(seconds / 2):
                self._signal_group(signal.SIGTERM)
                await self._ends_within(seconds / 2)
        finally:
            self.kill()
        await self._ends_within(2 * LAST_OUTPUT_SECONDS)

    def kill(self) -> None:
        """End it at once with all that it has started, unless it has ended."""
        if not self._ended.done():
            self._give_up("it was stopped")

    # -- its streams

    def _on_started(self, transport: asyncio.SubprocessTransport) -> None:
        """The process runs."""
        self._transport = transport
        self.pid = transport.get_pid()
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - it was asked for as a pipe
        # Any byte that waits is told, and told again when none does.
        stdin.set_write_buffer_limits(high=0)

    def _on_data(self, fd: int, data: bytes) -> None:
        """A piece of its stdout or stderr."""
        if fd == 1:
            self.peer.feed(data)
        else:
            self._take_stderr(data)

    def _on_stream_closed(self, fd: int) -> None:
        """One of its streams has ended."""
        self._open.discard(fd)
        if fd == 2:
            self._take_stderr(b"\n")
        self._wind_up()

    def _on_exited(self) -> None:
        """The process itself is gone; what it has started may not be."""
        self._exited = True
        self._kill_group()
        self._wind_up()

    def _on_stalled(self, *, is_stalled: bool) -> None:
        """It leaves unread what it was sent, or has taken the last of it."""
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
        if is_stalled and self.running:
            self._stall = self._loop.call_later(self._stall_seconds, self._check_stall, self._taken())

    # -- the end

    def _wind_up(self) -> None:
        """Settle when all is read and the process is gone, or when it takes too long from here."""
        is_ending = self._exited or 1 not in self._open or (0 not in self._open and self.running)
        if self._exited and self._open <= {0}:
            self._settle()
        elif is_ending and self._deadline is None:
            self._deadline = self._loop.call_later(LAST_OUTPUT_SECONDS, self._overdue)

    def _overdue(self) -> None:
        self._deadline = None
        if self._exited:
            # Somebody else holds its streams; nothing of what they say is for us.
            self._settle()
        else:
            self._give_up(f"it closed its {'input' if 1 in self._open else 'output'}")

    def _settle(self) -> None:
        if self._ended.done():
            return
        for timer in (self._stall, self._deadline):
            if timer is not None:
                timer.cancel()
        self._close_peer(self._exit_clause())
        assert self._why is not None  # noqa: S101 - closing the peer needs a reason
        self._ended.set_result(self._why)
        assert self._transport is not None  # noqa: S101 - it has exited, so it had started
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - as in _write
        if stdin.get_write_buffer_size():
            # Closing would wait for somebody to read it.
            stdin.abort()
        self._transport.close()

    def _give_up(self, why: str) -> None:
        """It runs and is of no use any more."""
        self._close_peer(why)
        self._kill_group()

    def _close_peer(self, why: str) -> None:
        if self._why is None:
            self._why = why
            self.peer.close(why)

    def _exit_clause(self) -> str:
        assert self._transport is not None  # noqa: S101 - as above
        code = self._transport.get_returncode()
        if code is not None and code < 0:
            return f"it was killed by signal {-code}"
        return f"it ended with exit code {code}"

    async def _ends_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.ended()
        except TimeoutError:
            return False
        return True

    def _kill_group(self) -> None:
        """Kill what there is of its group: once more after its end, for what it has started meanwhile."""
        if self._transport is None:
            return
        if sys.platform == "win32":
            if self._exited:
                return  # Windows finds nothing by a parent that is gone, and may use its number again.
            from jumpseat.system.commands import kill_tree

            process = self._transport.get_extra_info("subprocess")
            # A thread: it takes a moment, and this is the event loop.
            threading.Thread(target=kill_tree, args=(process,), daemon=True).start()
        else:
            self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        if sys.platform == "win32":
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    # -- writing and stderr

    def _write(self, data: bytes) -> None:
        if self._transport is None or self._why is not None:
            return
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - it was asked for as a pipe
        if not stdin.is_closing():
            self._sent += len(data)
            stdin.write(data)

    def _taken(self) -> int:
        """How many bytes it, or the pipe, has taken so far."""
        assert self._transport is not None  # noqa: S101 - only a started process is written to
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - as in _write
        return self._sent - stdin.get_write_buffer_size()

    def _check_stall(self, taken_before: int) -> None:
        taken = self._taken()
        if taken == taken_before:
            self._give_up("it stopped reading what it was sent")
        else:
            self._stall = self._loop.call_later(self._stall_seconds, self._check_stall, taken)

    def _take_stderr(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        left_out = len(whole) - MAX_LINES_AT_ONCE
        if left_out > 0:
            self._line.clear()
            self._on_log(f"({left_out} lines were left out)")
        for piece in whole[-MAX_LINES_AT_ONCE:]:
            self._grow_line(piece)
            line = _NOT_TEXT.sub("", self._line.decode("utf-8", "replace")).rstrip()
            self._line.clear()
            if line:
                self._last_lines.append(line)
                self._on_log(line)
        self._grow_line(rest)

    def _grow_line(self, piece: bytes) -> None:
        self._line += piece[: MAX_LINE_BYTES - len(self._line)]


class _Streams(asyncio.SubprocessProtocol):
    """The event loop's callbacks, handed on."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 - narrows for the type checker
        self._child._on_started(transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._child._on_data(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._child._on_stream_closed(fd)

    def process_exited(self) -> None:
        self._child._on_exited()

    def pause_writing(self) -> None:
        self._child._on_stalled(is_stalled=True)

    def resume_writing(self) -> None:
        self._child._on_stalled(is_stalled=False)
