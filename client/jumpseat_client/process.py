"""The daemon's process: started, fed, drained, and ended for good.

Above it is `client`. Its stderr is read at all times, because a full pipe would stop the daemon in the
middle of a log line.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jumpseat_client.errors import DaemonDied, StartFailed

daemon_log = logging.getLogger("jumpseat_client.daemon")

TAIL_LINES = 20
"""Lines of stderr that are kept for the error when the daemon dies."""

LINE_LIMIT = 2000
"""Characters kept of one line of stderr."""

DRAIN_SECONDS = 0.5
"""How long the pipes of an ended process may stay open: a child of the daemon's may hold them."""

LINGER_SECONDS = 2.0
"""How long a process may live after it has closed its stdout, and after it was killed."""


class DaemonProcess(asyncio.SubprocessProtocol):
    """One process that speaks frames on its stdin and stdout. Made by `start`."""

    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[DaemonDied], None]) -> None:
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._open_pipes = {1, 2}
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._partial_line = b""
        self._timer: asyncio.TimerHandle | None = None
        self._exited = False
        self._stdin: asyncio.WriteTransport | None = None
        self._transport: asyncio.SubprocessTransport
        self.ended: asyncio.Future[DaemonDied] = self._loop.create_future()
        """Done once the process is gone and everything it wrote was read."""

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        env: Mapping[str, str] | None,
        on_data: Callable[[bytes], None],
        on_end: Callable[[DaemonDied], None],
    ) -> DaemonProcess:
        """Start a process.

        Args:
            command: program and arguments.
            env: its whole environment; None for this process's.
            on_data: called with each piece of its stdout.
            on_end: called once, when it is gone, whoever ended it.

        Raises:
            StartFailed: the program could not be started.
        """
        try:
            _, process = await asyncio.get_running_loop().subprocess_exec(
                lambda: cls(on_data, on_end), *command, env=None if env is None else dict(env), **_own_group()
            )
        except (OSError, ValueError) as error:
            raise StartFailed(f"The daemon could not be started as {command[0]!r}: {error}.") from error
        return process

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        return tuple(self._tail)

    def write(self, data: bytes) -> None:
        """Send to its stdin, never blocking; a write to a process that is gone is dropped."""
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    async def stop(self, grace: float) -> None:
        """End the process: close its stdin, wait `grace` seconds, then kill it and what it has started."""
        try:
            if self._stdin is not None:
                self._stdin.close()
            await asyncio.wait({self.ended}, timeout=grace)
        finally:
            if not self.ended.done():
                self._kill()
                await asyncio.wait({self.ended}, timeout=LINGER_SECONDS)
            self._transport.close()

    # -- what asyncio reports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 - narrows for the type checker
        self._transport = transport
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - narrows for the type checker
        self._stdin = stdin

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
        if fd == 1:
            self._on_data(data)
            return
        *lines, self._partial_line = (self._partial_line + data).split(b"\n")
        for line in lines:
            self._keep_line(line)
        if len(self._partial_line) > LINE_LIMIT:
            self._keep_line(self._partial_line)
            self._partial_line = b""

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """One of its pipes is closed."""
        self._open_pipes.discard(fd)
        if self._exited and not self._open_pipes:
            self._end()
        elif fd == 1 and not self._exited:
            self._later(LINGER_SECONDS, self._kill)

    def process_exited(self) -> None:
        """It has ended; what it wrote last may still be in the pipes."""
        self._exited = True
        if self._open_pipes:
            self._later(DRAIN_SECONDS, self._end)
        else:
            self._end()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, call)

    def _keep_line(self, line: bytes) -> None:
        text = line[:LINE_LIMIT].decode("utf-8", "replace").rstrip()
        if text:
            self._tail.append(text)
            daemon_log.info("%s", text)

    def _kill(self) -> None:
        if self._exited:
            return
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self._transport.get_pid(), signal.SIGKILL)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self.ended.done():
            self._keep_line(self._partial_line)
            died = DaemonDied(self._transport.get_returncode(), self.tail)
            self.ended.set_result(died)
            self._on_end(died)


def _own_group() -> dict[str, Any]:
    """The options that put a process into a group of its own.

    Ctrl-C in a terminal is then for the program that asks, which cancels the turn in good order; and
    whatever the daemon has started itself can be ended with it.
    """
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}
