"""The daemon as a child process of the client."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence

from jumpseat.system.child import Child
from jumpseat_client.errors import DaemonDied, StartFailed

daemon_log = logging.getLogger("jumpseat_client.daemon")

TAIL_LINES = 20
"""Maximum number of stderr lines that `DaemonDied` quotes."""

LINE_LIMIT = 2000
"""Maximum number of characters that are kept of a stderr line."""

EXIT_GRACE = 2.0
"""Seconds that the daemon may keep running after it closes stdout."""


class DaemonProcess(Child):
    """A process that exchanges frames on stdin and stdout. Created by `start_daemon`."""

    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[DaemonDied], None]) -> None:
        super().__init__(closed_seconds=EXIT_GRACE, kept_lines=TAIL_LINES)
        self._on_data = on_data
        self._on_end = on_end
        self.died: DaemonDied | None = None
        """The error to raise; None until the process has ended and all its output has been read."""

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines of stderr."""
        return tuple(line[:LINE_LIMIT] for line in self.last_lines)

    def on_output(self, data: bytes) -> None:
        """Pass the output to the callback."""
        self._on_data(data)

    def on_line(self, line: str) -> None:
        """Log the line."""
        daemon_log.info("%s", line[:LINE_LIMIT])

    def on_end(self) -> None:
        """Set `died` and pass it to the callback."""
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
        env: the daemon's whole environment; None to inherit this process's environment.
        on_data: called with each chunk of stdout.
        on_end: called once, when the process has ended for any reason.

    Raises:
        StartFailed: the program could not be started.
    """
    process = DaemonProcess(on_data, on_end)
    try:
        await process.start(command, env=os.environ if env is None else env)
    except OSError as error:
        raise StartFailed(f"The daemon could not be started as {command[0]!r}: {error}.") from error
    return process
