"""Watching files: every kind of change is reported once, and none is lost on cancellation."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.system.watch import Watcher

WAIT_SECONDS = 10


class Ticks:
    """A clock controlled by the test. `reached` is set while the watcher waits for the next tick."""

    def __init__(self) -> None:
        self._given = asyncio.Semaphore(0)
        self.reached = asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self._given.acquire()
        self.reached.clear()

    def release_one(self) -> None:
        """Trigger one tick."""
        self._given.release()

    async def tick(self, count: int) -> None:
        """Trigger this many ticks, and wait until the watcher has handled each."""
        for _ in range(count):
            await asyncio.wait_for(self.reached.wait(), WAIT_SECONDS)
            self.reached.clear()
            self.release_one()
        await asyncio.wait_for(self.reached.wait(), WAIT_SECONDS)


async def no_wait() -> None:
    """Tick immediately."""


async def wait_for_change(watcher: Watcher) -> frozenset[Path]:
    async with asyncio.timeout(WAIT_SECONDS):
        return await anext(watcher)


def replace(path: Path) -> None:
    """Replace the file with one of the same size and time, which may happen in an atomic write."""
    old = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(old.st_atime_ns, old.st_mtime_ns))
    other.replace(path)


def rewrite_with_older_time(path: Path) -> None:
    """Change the content in place, with the same size and an older time."""
    path.write_text("b")
    os.utime(path, ns=(1, 1))


@pytest.mark.requirement("5:settings-did-change")
@pytest.mark.parametrize(
    "change",
    [replace, rewrite_with_older_time, lambda path: path.write_text("longer"), lambda path: path.unlink()],
    ids=["replaced", "same size", "another size", "gone"],
)
async def test_any_change_of_a_file_is_noticed(tmp_path: Path, change: Callable[[Path], object]) -> None:
    path = tmp_path / "file"
    path.write_text("a")
    watcher = Watcher([path], tick=no_wait)
    change(path)

    assert await wait_for_change(watcher) == {path}


async def test_the_creation_and_the_removal_of_a_file_are_changes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    watcher = Watcher([path], tick=no_wait)

    for change in (path.touch, path.unlink, path.touch):
        change()
        assert await wait_for_change(watcher) == {path}


async def test_only_the_changed_paths_are_reported(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    watcher = Watcher([first, second], tick=no_wait)

    second.touch()
    assert await wait_for_change(watcher) == {second}
    first.touch()
    second.write_text("x")
    assert await wait_for_change(watcher) == {first, second}


async def test_a_change_is_reported_once_and_quiet_ticks_report_nothing(tmp_path: Path) -> None:
    path, ticks = tmp_path / "file", Ticks()
    reported: list[frozenset[Path]] = []

    async def follow() -> None:
        async for changed in Watcher([path], tick=ticks):
            reported.append(changed)  # noqa: PERF401 - it never ends; the test reads the changes so far

    task = asyncio.create_task(follow())
    await ticks.tick(2)
    assert reported == []
    path.touch()
    await ticks.tick(3)
    assert reported == [{path}]

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_replaced_file_is_reported_at_the_next_tick(tmp_path: Path) -> None:
    path, ticks = tmp_path / "file", Ticks()
    path.write_text("a")
    waiting = asyncio.create_task(anext(Watcher([path], tick=ticks)))
    await asyncio.wait_for(ticks.reached.wait(), WAIT_SECONDS)
    replace(path)
    ticks.release_one()

    assert await asyncio.wait_for(waiting, WAIT_SECONDS) == {path}


async def test_a_file_that_is_written_in_place_is_reported_once_it_is_stable(tmp_path: Path) -> None:
    path, ticks = tmp_path / "file", Ticks()
    path.write_text("content")
    waiting = asyncio.create_task(anext(Watcher([path], tick=ticks)))
    for text in ("", "half", "the whole"):
        await ticks.tick(1)
        path.write_text(text)
    await ticks.tick(1)
    assert not waiting.done()
    ticks.release_one()

    assert await asyncio.wait_for(waiting, WAIT_SECONDS) == {path}


async def test_a_cancelled_wait_does_not_lose_changes(tmp_path: Path) -> None:
    path, ticks = tmp_path / "file", Ticks()
    watcher = Watcher([path], tick=ticks)
    waiting = asyncio.create_task(anext(watcher))
    await asyncio.wait_for(ticks.reached.wait(), WAIT_SECONDS)
    path.touch()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    for _ in range(2):
        ticks.release_one()
    assert await wait_for_change(watcher) == {path}


async def test_a_file_in_a_missing_directory_counts_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "file"
    watcher = Watcher([path], tick=no_wait)
    path.parent.mkdir()
    path.touch()

    assert await wait_for_change(watcher) == {path}


@pytest.mark.requirement("10:did-change")
async def test_an_unsettled_change_is_returned_at_every_poll_while_it_is_recent(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a")
    os.utime(path, (1, 1))
    ticks = Ticks()
    watcher = Watcher([path], settled=False, tick=ticks)
    waiting = asyncio.create_task(anext(watcher))
    await ticks.tick(2)
    assert not waiting.done()

    path.write_text("b")  # A second write may have the same time, so report the change again.
    for _ in range(2):
        ticks.release_one()
        assert await asyncio.wait_for(waiting, WAIT_SECONDS) == {path}
        waiting = asyncio.create_task(anext(watcher))
    waiting.cancel()
