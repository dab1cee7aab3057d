"""A lock between processes that is held across a request, without holding a thread.

`config/state_file.py` locks for the moment of a write, on one thread. An exchange lasts as long as the
network does, and its caller may be cancelled at any time. The operating system gives the lock of a
process that died back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from jumpseat.auth.clock import Clock

if TYPE_CHECKING:
    from filelock import BaseFileLock

POLL_SECONDS = 0.05


@contextlib.asynccontextmanager
async def exchange_lock(path: Path, *, seconds: float, clock: Clock) -> AsyncIterator[bool]:
    """Hold the lock, waiting for it so long; the value says whether it is held.

    Not to get it is no failure: somebody hangs, and then it is better to ask GitHub once more than not at
    all. It is the same where no lock can be had: a directory that cannot be written, a file system without.
    """
    lock = await asyncio.to_thread(_made, path)
    held = False
    deadline = clock.monotonic() + seconds
    try:
        while lock is not None and not held:
            attempt = asyncio.ensure_future(asyncio.to_thread(_try, lock))
            try:
                outcome = await asyncio.shield(attempt)
            except asyncio.CancelledError:
                await attempt  # A thread cannot be cancelled; whatever it has taken is given back below.
                raise
            held = outcome is True
            if outcome is None or clock.monotonic() >= deadline:
                break
            if not held:
                await clock.sleep(POLL_SECONDS)
        yield held
    finally:
        if lock is not None and lock.is_locked:
            # Shielded, so that a cancel in this moment does not leave the lock behind.
            await asyncio.shield(asyncio.to_thread(lock.release))


def _made(path: Path) -> BaseFileLock | None:
    from filelock import FileLock  # Deferred: most calls find a fresh token in memory.

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return FileLock(path, mode=0o600, thread_local=False)


def _try(lock: BaseFileLock) -> bool | None:
    """Whether the lock was got; None where there can be none."""
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    except OSError:
        return None
    return True
