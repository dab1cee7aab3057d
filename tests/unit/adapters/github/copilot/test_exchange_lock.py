"""The lock that is held during an exchange: it is always released, and waits for it are bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from filelock import FileLock

from jumpseat.adapters.github.copilot import exchange_lock as module
from jumpseat.adapters.github.copilot.exchange_lock import exchange_lock
from jumpseat.system.clock import SYSTEM_CLOCK
from tests.unit.adapters.github.hand_clock import HandClock


async def is_free(path: Path, seconds: float = 0) -> bool:
    async with exchange_lock(path, seconds=seconds, clock=SYSTEM_CLOCK) as held:
        return held


@pytest.mark.requirement("8:exchange-lock")
@pytest.mark.parametrize("turns", range(12))
async def test_a_holder_that_is_cancelled_at_any_moment_releases_the_lock(tmp_path: Path, turns: int) -> None:
    path = tmp_path / "x.lock"

    async def hold() -> None:
        async with exchange_lock(path, seconds=5, clock=SYSTEM_CLOCK):
            await asyncio.Event().wait()

    holder = asyncio.ensure_future(hold())
    for _ in range(turns):
        await asyncio.to_thread(int)  # Lets the loop and its threads run for one step.
    holder.cancel()
    await asyncio.wait({holder}, timeout=20)

    assert holder.cancelled()
    assert await is_free(path)


@pytest.mark.requirement("8:exchange-lock")
async def test_the_wait_for_a_lock_that_is_held_forever_is_bounded(tmp_path: Path) -> None:
    clock = HandClock()
    with FileLock(tmp_path / "x.lock", thread_local=False):
        async with exchange_lock(tmp_path / "x.lock", seconds=2, clock=clock) as held:
            assert not held
    assert 2.0 <= sum(clock.slept) < 3.0
    assert await is_free(tmp_path / "x.lock")


async def test_the_work_goes_on_if_the_lock_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert not await is_free(tmp_path / "file" / "x.lock")


@pytest.mark.requirement("8:exchange-lock")
async def test_after_a_stopped_holder_the_waiting_processes_run_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOPPED_SECONDS", 1.0)
    holders = most = 0

    async def work() -> bool:
        nonlocal holders, most
        async with exchange_lock(tmp_path / "x.lock", seconds=20, clock=SYSTEM_CLOCK) as held:
            holders += 1
            most = max(most, holders)
            await asyncio.to_thread(int)
            holders -= 1
            return held

    # Held as by a stopped process, which no longer touches the file.
    with FileLock(tmp_path / "x.lock", thread_local=False):
        async with asyncio.timeout(10):
            assert await asyncio.gather(*(work() for _ in range(5))) == [True] * 5
    assert most == 1


@pytest.mark.requirement("8:exchange-lock")
async def test_others_wait_for_a_running_holder_with_a_slow_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(module, "STOPPED_SECONDS", 1.0)
    path = tmp_path / "x.lock"
    async with exchange_lock(path, seconds=20, clock=SYSTEM_CLOCK):
        waiting = asyncio.ensure_future(is_free(path, seconds=20))
        done, _ = await asyncio.wait({waiting}, timeout=1.5)
        assert not done

    async with asyncio.timeout(20):
        assert await waiting
