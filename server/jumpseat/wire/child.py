"""Runs a child process and exchanges JSON-RPC messages with it on its standard streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpseat.system import child as system_child
from jumpseat.wire.peer import Peer

STALL_SECONDS = 30.0
"""The time without progress after which the program is considered to have stopped reading."""


async def start_child(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    directory: Path | None = None,
    umask: int = -1,
    on_notification: Callable[[str, Any], None],
    on_request: Callable[[str, Any], Awaitable[Any]],
    on_log: Callable[[str], None],
    stall_seconds: float = STALL_SECONDS,
) -> FramedChild:
    """Start a program in a process group of its own.

    Args:
        argv: the program and its arguments; no shell is involved.
        env: the program's whole environment.
        directory: the working directory; None for ours.
        umask: the umask; -1 for ours.
        on_notification: see `Peer`.
        on_request: see `Peer`.
        on_log: called with each line of stderr, cut to a maximum length and without its line ending.
        stall_seconds: the program is killed if it has unread input and reads nothing for this time.

    Raises:
        OSError: the program cannot be started.
    """
    child = FramedChild(on_notification, on_request, on_log, stall_seconds)
    await child.start(argv, env=env, directory=directory, umask=umask)
    return child


class WatchedChild(system_child.Child):
    """A running program that is killed if it stops reading its input."""

    def __init__(self, on_log: Callable[[str], None], stall_seconds: float = STALL_SECONDS) -> None:
        """
        Args:
            on_log: called with each line of stderr, cut to a maximum length and without its line ending.
            stall_seconds: the program is killed if it has unread input and reads nothing for this time.
        """
        super().__init__()
        self._on_log = on_log
        self._stall_seconds = stall_seconds
        self._sent = 0
        self._stall: asyncio.TimerHandle | None = None

    @property
    def last_words(self) -> str:
        """The last lines of stderr, bounded. They may contain secrets."""
        return "\n".join(self.last_lines)

    def on_line(self, line: str) -> None:
        """Log the line."""
        self._on_log(line)

    def on_end(self) -> None:
        """Stop watching for a stall."""
        self._cancel_stall()

    def write(self, data: bytes) -> None:
        """Write to the program's stdin."""
        self._sent += len(data)
        super().write(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make asyncio call `pause_writing` for any unsent byte, and `resume_writing` when all are sent."""
        super().connection_made(transport)
        assert self._stdin is not None  # noqa: S101 - the process was started with a pipe
        self._stdin.set_write_buffer_limits(high=0)

    def pause_writing(self) -> None:
        """Start watching for a stall, because the program has not read everything."""
        self._cancel_stall()
        if self.running:
            self._watch(self._accepted_bytes())

    def resume_writing(self) -> None:
        """Stop watching, because the program has read everything."""
        self._cancel_stall()

    def _watch(self, accepted: int) -> None:
        self._stall = self._loop.call_later(self._stall_seconds, self._check_stall, accepted)

    def _cancel_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _accepted_bytes(self) -> int:
        """Return the number of bytes that the program or the pipe has accepted so far."""
        assert self._stdin is not None  # noqa: S101 - only a started process is written to
        return self._sent - self._stdin.get_write_buffer_size()

    def _check_stall(self, accepted_before: int) -> None:
        accepted = self._accepted_bytes()
        if accepted == accepted_before:
            self.kill("it stopped reading what it was sent")
        else:
            self._watch(accepted)


class FramedChild(WatchedChild):
    """A running program that exchanges JSON-RPC messages in LSP frames. Created by `start_child`."""

    def __init__(
        self,
        on_notification: Callable[[str, Any], None],
        on_request: Callable[[str, Any], Awaitable[Any]],
        on_log: Callable[[str], None],
        stall_seconds: float,
    ) -> None:
        super().__init__(on_log, stall_seconds)
        self.peer = Peer(
            self.write,
            on_notification=on_notification,
            on_request=on_request,
            # Do not continue at the next frame: the lost input may have been a response, and its request
            # would wait forever.
            on_malformed=lambda reason: self.kill(f"it sent something that is not a message ({reason})"),
        )

    def forget_last_words(self) -> None:
        """Discard the lines that `last_words` returns."""
        self.last_lines.clear()

    def on_output(self, data: bytes) -> None:
        """Feed the peer."""
        self.peer.feed(data)

    def on_unusable(self, why: str) -> None:
        """Fail every waiting request."""
        self.peer.close(why)
