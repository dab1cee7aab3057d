"""Ends a daemon that has had no clients for a while."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from jumpseat.config.daemon import read_idle_minutes

if TYPE_CHECKING:
    from jumpseat.hub.sessions import AttachedClient

RETRY_SECONDS = 0.5
"""The interval at which to retry ending while another process holds the lock."""


def idle_seconds(client: AttachedClient | None) -> float:
    """Return the seconds to wait after this client has left. If the client is None, return the default.

    Blocks while the client's configuration file is read.
    """
    if client is None:
        return 60.0 * read_idle_minutes(None)
    return 60.0 * read_idle_minutes(client.config_file)


class IdleTimer:
    """A timer that calls `end` after the idle time that the last client configured."""

    def __init__(self, end: Callable[[], Awaitable[bool]]) -> None:
        """
        Args:
            end: ends the daemon if it can; returns False if it should be called again soon.
        """
        self._end = end
        self._at: float | None = None
        """The time at which to call `end`, by `time.monotonic`."""

        self._task: asyncio.Task[None] | None = None
        """The wait for that time; None while the timer is paused."""

    def set_time(self, seconds: float) -> None:
        """Restart the countdown with this time, from now. A paused timer stays paused."""
        self._at = time.monotonic() + seconds
        if self._task is not None:
            self.pause()
            self.resume()

    def pause(self) -> None:
        """Suspend the timer because a connection is open."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def resume(self) -> None:
        """Resume the timer. The time during which it was paused counts too."""
        if self._task is None and self._at is not None:
            self._task = asyncio.ensure_future(self._wait(self._at))

    async def _wait(self, until: float) -> None:
        await asyncio.sleep(max(0.0, until - time.monotonic()))
        while not await self._end():  # noqa: ASYNC110 - another process holds the lock
            await asyncio.sleep(RETRY_SECONDS)
