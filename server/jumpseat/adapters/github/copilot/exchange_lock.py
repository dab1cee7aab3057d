"""A lock between processes that is held across a request, without holding a thread.

`system/state_file.py` locks for the moment of a write, on one thread. An exchange lasts as long as the
network does, and its caller may be cancelled at any time. The operating system gives the lock of a
process that died back. A process that was stopped (SIGSTOP, a debugger) keeps it: so the holder touches a
file each second, and where that ends the others agree on a second lock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from jumpseat.system.clock import Clock
from jumpseat.system.watch import stamp_of

if TYPE_CHECKING:
    from filelock import BaseFileLock

POLL_SECONDS = 0.05

BEAT_SECONDS = 1.0
"""How often the holder shows that it runs."""

STOPPED_SECONDS = 3.0
"""A holder that has not shown itself for so long is stopped."""

_Outcome: TypeAlias = Literal["held", "stopped", "not held"]


@contextlib.asynccontextmanager
async def exchange_lock(path: Path, *, seconds: float, clock: Clock) -> AsyncIterator[bool]:
    """Hold the lock, waiting for it so long; the value says whether it is held.

    Not to get it is no failure: somebody hangs, and then it is better to ask GitHub once more than not at
    all. It is the same where no lock can be had: a directory that cannot be written, a file system without.
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
    lock = await asyncio.to_thread(_made, path)
    outcome: _Outcome = "not held"
    deadline = clock.monotonic() + seconds
    seen, seen_at = None, clock.monotonic()
    beating: asyncio.Task[None] | None = None
    try:
        while lock is not None and outcome == "not held":
            attempt = asyncio.ensure_future(asyncio.to_thread(_try, lock))
            try:
                got = await asyncio.shield(attempt)
            except asyncio.CancelledError:
                await attempt  # A thread cannot be cancelled; whatever it has taken is given back below.
                raise
            if got:
                outcome = "held"
                beating = asyncio.create_task(_beat(beat))
            elif got is None or clock.monotonic() >= deadline:
                break
            else:
                found = await asyncio.to_thread(stamp_of, beat)
                if found != seen:
                    seen, seen_at = found, clock.monotonic()
                elif clock.monotonic() - seen_at >= STOPPED_SECONDS:
                    outcome = "stopped"
                else:
                    await clock.sleep(POLL_SECONDS)
        yield outcome
    finally:
        if beating is not None:
            beating.cancel()
        if lock is not None and lock.is_locked:
            # Shielded, so that a cancel in this moment does not leave the lock behind.
            await asyncio.shield(asyncio.to_thread(lock.release))


async def _beat(path: Path) -> None:
    with contextlib.suppress(OSError):
        while True:
            await asyncio.to_thread(path.touch, 0o600)
            await asyncio.sleep(BEAT_SECONDS)


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
