"""The lock that is held across a request: given back whatever happens, and waited for within bounds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from filelock import FileLock

from jumpseat.auth.clock import SYSTEM_CLOCK
from jumpseat.auth.exchange_lock import exchange_lock
from tests.unit.auth.hand_clock import HandClock


async def is_free(path: Path) -> bool:
    async with exchange_lock(path, seconds=0, clock=SYSTEM_CLOCK) as held:
        return held


@pytest.mark.requirement("8:single-flight")
@pytest.mark.parametrize("turns", range(12))
async def test_a_holder_that_is_cancelled_at_any_moment_gives_it_back(tmp_path: Path, turns: int) -> None:
    path = tmp_path / "x.lock"

    async def hold() -> None:
        async with exchange_lock(path, seconds=5, clock=SYSTEM_CLOCK):
            await asyncio.Event().wait()

    holder = asyncio.ensure_future(hold())
    for _ in range(turns):
        await asyncio.to_thread(int)  # Lets both the loop and its threads go on by a little.
    holder.cancel()
    await asyncio.wait({holder}, timeout=5)

    assert holder.cancelled()
    assert await is_free(path)


@pytest.mark.requirement("8:single-flight")
async def test_a_lock_that_is_held_for_ever_is_waited_for_within_bounds(tmp_path: Path) -> None:
    clock = HandClock()
    with FileLock(tmp_path / "x.lock", thread_local=False):
        async with exchange_lock(tmp_path / "x.lock", seconds=2, clock=clock) as held:
            assert not held
    assert 2.0 <= sum(clock.slept) < 3.0
    assert await is_free(tmp_path / "x.lock")


async def test_where_no_lock_can_be_made_the_work_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert not await is_free(tmp_path / "file" / "x.lock")
