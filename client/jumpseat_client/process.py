"""The daemon as a child process of the client."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence

from jumpseat.system.child import Child
from jumpseat_client.errors import DaemonDied, StartFailed

daemon_log = logging.getLogger("jumpseat_client.daemon")

TAIL_LINES = 20
"""Lines of stderr that are kept for `DaemonDied`."""

LINE_LIMIT = 2000
"""Characters kept of one line of stderr."""

CLOSED_SECONDS = 2.0
"""Seconds that the daemon may run after it closed its stdout."""


class DaemonProcess(Child):
    """One process that speaks frames on its stdin and stdout. Created by `start_daemon`."""

    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[DaemonDied], None]) -> None:
        super().__init__(closed_seconds=CLOSED_SECONDS, kept_lines=TAIL_LINES)
        self._on_data = on_data
        self._on_end = on_end
        self.died: DaemonDied | None = None
        """Set once the process is gone and everything it wrote was read."""

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        return tuple(line[:LINE_LIMIT] for line in self.last_lines)

    def on_output(self, data: bytes) -> None:
        """Pass its output on."""
        self._on_data(data)

    def on_line(self, line: str) -> None:
        """Log the line."""
        daemon_log.info("%s", line[:LINE_LIMIT])

    def on_ended(self) -> None:
        """Report the end."""
        self.died = DaemonDied(self.return_code, self.tail)
        self._on_end(self.died)


async def start_daemon(
    command: Sequence[str],
    env: Mapping[str, str] | None,
    on_data: Callable[[bytes], None],
    on_end: Callable[[DaemonDied], None],
) -> DaemonProcess:
    """Start the daemon.

    Args:
        command: program and arguments.
        env: its whole environment; None for this process's.
        on_data: called with each piece of its stdout.
        on_end: called once, when the process is gone for any reason.

    Raises:
        StartFailed: the program could not be started.
    """
    process = DaemonProcess(on_data, on_end)
    try:
        await process.start(command, env=os.environ if env is None else env)
    except OSError as error:
        raise StartFailed(f"The daemon could not be started as {command[0]!r}: {error}.") from error
    return process
