"""A lock between processes that is held during a request without holding a thread.

The operating system releases the lock of a process that died. A process that was stopped (SIGSTOP, a
debugger) keeps it. So the holder touches a file each second; if it stops, the others use a second lock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from jumpseat.system.clock import Clock
from jumpseat.system.paths import make_private
from jumpseat.system.threads import run_blocking
from jumpseat.system.watch import stamp_of

if TYPE_CHECKING:
    from filelock import BaseFileLock

POLL_SECONDS = 0.05

BEAT_SECONDS = 1.0
"""How often the holder touches its file."""

STOPPED_SECONDS = 3.0
"""A holder that has not touched its file for this time counts as stopped."""

_Outcome: TypeAlias = Literal["held", "stopped", "not held"]


@contextlib.asynccontextmanager
async def exchange_lock(path: Path, *, seconds: float, clock: Clock) -> AsyncIterator[bool]:
    """Hold the lock, after waiting for at most `seconds`; the value says whether it is held.

    It is not acquired if a holder hangs, the directory cannot be written, or the file system has no locks.
    The caller then continues without it: one exchange too many is better than none.
    """
    async with contextlib.AsyncExitStack() as stack:
        outcome = await stack.enter_async_context(_held(path, seconds, clock))
        if outcome == "stopped":
            spare = path.with_name(f"{path.stem}.spare{path.suffix}")
            outcome = await stack.enter_async_context(_held(spare, seconds, clock))
        yield outcome == "held"


@contextlib.asynccontextmanager
async def _held(path: Path, seconds: float, clock: Clock) -> AsyncIterator[_Outcome]:
    beat = path.with_name(f"{path.name}.beat")  # Waiters truncate the lock's own file.
    lock = await run_blocking(_make_lock, path)
    outcome: _Outcome = "not held"
    deadline = clock.monotonic() + seconds
    seen, seen_at = None, clock.monotonic()
    beating: asyncio.Task[None] | None = None
    try:
        while lock is not None and outcome == "not held":
            attempt = asyncio.ensure_future(run_blocking(_try, lock))
            try:
                acquired = await asyncio.shield(attempt)
            except asyncio.CancelledError:
                await attempt  # A thread cannot be cancelled; a lock that it took is released below.
                raise
            if acquired:
                outcome = "held"
                beating = asyncio.create_task(_beat(beat))
            elif acquired is None or clock.monotonic() >= deadline:
                break
            else:
                stamp = await run_blocking(stamp_of, beat)
                if stamp != seen:
                    seen, seen_at = stamp, clock.monotonic()
                elif clock.monotonic() - seen_at >= STOPPED_SECONDS:
                    outcome = "stopped"
                else:
                    await clock.sleep(POLL_SECONDS)
        yield outcome
    finally:
        if beating is not None:
            beating.cancel()
        if lock is not None and lock.is_locked:
            # Shielded, so that a cancellation now does not leave the lock held.
            await asyncio.shield(run_blocking(lock.release))


async def _beat(path: Path) -> None:
    with contextlib.suppress(OSError):
        while True:
            await run_blocking(path.touch, 0o600)
            await asyncio.sleep(BEAT_SECONDS)


def _make_lock(path: Path) -> BaseFileLock | None:
    from filelock import FileLock  # Deferred: most calls find a fresh token in memory.

    try:
        make_private(path.parent)
    except OSError:
        return None
    return FileLock(path, mode=0o600, thread_local=False)


def _try(lock: BaseFileLock) -> bool | None:
    """Whether the lock was acquired; None if there can be none."""
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    except OSError:
        return None
    return True
