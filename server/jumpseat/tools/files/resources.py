"""The locks and limits that the file tools of all clients of a daemon share."""

from __future__ import annotations

import asyncio
from pathlib import Path
from weakref import WeakValueDictionary

from jumpseat.system.environment import Environment
from jumpseat.system.shared import Reference

MAX_SCANS = 2
"""The maximum number of concurrent lists and searches. Each may keep a processor busy for ten seconds."""


class FileResources:
    """The locks of files, and the permits of lists and searches. Belongs to one event loop."""

    def __init__(self) -> None:
        self.scans = asyncio.Semaphore(MAX_SCANS)
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()

    def lock(self, path: Path) -> asyncio.Lock:
        """Return the lock for changes of one file."""
        return self._locks.setdefault(path, asyncio.Lock())


async def _close(resources: FileResources) -> None:
    """Do nothing: nothing is open."""


def acquire_resources(environment: Environment) -> Reference[FileResources]:
    """Return the resources that all clients of the daemon share."""
    return environment.shared.acquire(("file tools",), FileResources, _close)
