"""Noticing that other processes changed a file: saved settings, tokens, the configuration.

Polling, because it is the one way that works on every system and on network drives, and because a `stat`
each second costs nothing that can be measured. Below it is nothing of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Self, TypeAlias

INTERVAL_SECONDS = 1.0
"""How long a change may stay unnoticed."""

Stamp: TypeAlias = tuple[int, int, int]
"""Time of the last change in nanoseconds, inode, size in bytes."""


def stamp_of(path: Path) -> Stamp | None:
    """Changes whenever the file is replaced or written, at the cost of one `stat`; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


class Watcher:
    """Gives the sets of paths that changed: `async for changed in Watcher([path]): ...`.

    A change counts from the moment the watcher is made, so what is read after that is never missed. Making it
    blocks for a `stat` of each file. Files that appear or go are changes too. Several changes between two
    looks are one. Leaving the loop, or cancelling it, loses nothing: what was not given yet is given when the
    iteration goes on.

    A file that another one took the place of is given at once: it is complete. One that changes in place,
    appears or goes is given at the first look that finds it as the look before did, because an editor that
    empties and then writes a file must not be met in between.
    """

    def __init__(
        self,
        paths: Iterable[Path],
        *,
        interval: float = INTERVAL_SECONDS,
        tick: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """
        Args:
            paths: the files to look at; they need not exist.
            interval: seconds between two looks.
            tick: what to wait for between two looks instead, for tests.
        """
        self._given = {path: stamp_of(path) for path in paths}
        self._last = dict(self._given)
        self._tick = tick or (lambda: asyncio.sleep(interval))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> frozenset[Path]:
        while True:
            await self._tick()
            # In a thread: a home directory on a network may let even a `stat` wait.
            found = await asyncio.to_thread(self._look)
            changed = frozenset(path for path, stamp in found.items() if self._is_news(path, stamp))
            self._last = found
            self._given.update((path, found[path]) for path in changed)
            if changed:
                return changed

    def _look(self) -> dict[Path, Stamp | None]:
        return {path: stamp_of(path) for path in self._given}

    def _is_news(self, path: Path, stamp: Stamp | None) -> bool:
        given = self._given[path]
        if stamp == given:
            return False
        was_replaced = stamp is not None and given is not None and stamp[1] != given[1]
        return was_replaced or stamp == self._last[path]
