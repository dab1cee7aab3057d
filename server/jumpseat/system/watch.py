"""Watches files that other processes change: saved settings, tokens, the configuration.

Only polling works on every system and on network drives. One `stat` per second has no measurable cost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Self, TypeAlias

from jumpseat.system.threads import run_blocking

INTERVAL_SECONDS = 1.0
"""The default number of seconds between two polls."""

_RECENT_NS = 2 * 10**9
"""The age in nanoseconds below which a file may have been written again without changing its stamp."""

Stamp: TypeAlias = tuple[int, int, int]
"""The time of the last modification in nanoseconds, the inode, and the size in bytes."""


def stamp_of(path: Path) -> Stamp | None:
    """Return a value that changes when the file is written or replaced; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


class Watcher:
    """Iterates over the sets of changed paths: `async for changed in Watcher([path]): ...`.

    The constructor calls `stat` for each file, which blocks. Changes since then are reported. A file that
    appears or disappears has changed too. Several changes between two polls are reported once. Leaving or
    cancelling the loop does not lose any change: the next iteration reports it.

    By default, a replaced file is reported by the next poll, because it is complete. If a file changes in
    place, appears or disappears, an editor may be between truncating and writing it. Such a file is reported
    by the first poll that finds it unchanged since the previous poll.
    """

    def __init__(
        self,
        paths: Iterable[Path],
        *,
        interval: float = INTERVAL_SECONDS,
        settled: bool = True,
        tick: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """
        Args:
            paths: the files to watch; they need not exist.
            interval: seconds between polls.
            settled: whether to wait until a file stays unchanged. If False, a change is reported by the next
                poll and again by the polls of the next two seconds.
            tick: awaited between polls instead of sleeping; for tests.
        """
        self._reported = {path: stamp_of(path) for path in paths}
        """The stamp of each file at the start, or at the last change that was reported."""

        self._polled = dict(self._reported)
        """The stamps of the last poll."""

        self._settled = settled
        self._tick = tick or (lambda: asyncio.sleep(interval))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> frozenset[Path]:
        while True:
            await self._tick()
            # Use a thread: even `stat` may block on a network drive.
            stamps = await run_blocking(self._poll)
            changed = frozenset(path for path, stamp in stamps.items() if self._is_due(path, stamp))
            self._polled = stamps
            self._reported.update((path, stamps[path]) for path in changed)
            if changed:
                return changed

    def _poll(self) -> dict[Path, Stamp | None]:
        return {path: stamp_of(path) for path in self._reported}

    def _is_due(self, path: Path, stamp: Stamp | None) -> bool:
        """Whether to report a file with this stamp now."""
        reported = self._reported[path]
        if not self._settled:
            is_recent = stamp is not None and stamp[0] > time.time_ns() - _RECENT_NS
            return is_recent or stamp != reported
        if stamp == reported:
            return False
        was_replaced = stamp is not None and reported is not None and stamp[1] != reported[1]
        return was_replaced or stamp == self._polled[path]
