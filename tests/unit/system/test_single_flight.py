"""Running a task only once at a time: shared results, and cancellation."""

from __future__ import annotations

import asyncio

import pytest

from jumpseat.system.single_flight import SingleFlight, WorkCancelled

WAIT_SECONDS = 10.0


class Work:
    """Work that runs until the test ends it."""

    def __init__(self) -> None:
        self.runs = 0
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()

    async def __call__(self) -> int:
        self.runs += 1
        self.began.set()
        await self.may_end.wait()
        return self.runs


async def start_callers(flight: SingleFlight[int], work: Work, count: int) -> list[asyncio.Task[int]]:
    """Start callers that wait for the work."""
    tasks = [asyncio.create_task(flight.run(work)) for _ in range(count)]
    await asyncio.wait_for(work.began.wait(), WAIT_SECONDS)
    return tasks


async def test_callers_at_the_same_time_share_one_run_and_later_ones_start_another() -> None:
    flight, work = SingleFlight[int](), Work()
    tasks = await start_callers(flight, work, 3)
    work.may_end.set()

    assert await asyncio.gather(*tasks) == [1, 1, 1]
    assert await flight.run(work) == 2


async def test_a_cancelled_caller_leaves_the_work_to_the_others() -> None:
    flight, work = SingleFlight[int](), Work()
    first, second = await start_callers(flight, work, 2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await first
    work.may_end.set()

    assert not isinstance(caught.value, WorkCancelled)
    assert await second == 1


async def test_the_last_cancelled_caller_ends_the_work_if_requested() -> None:
    flight, work = SingleFlight[int](ends_with_its_callers=True), Work()
    (task,) = await start_callers(flight, work, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not flight.is_running
    work.may_end.set()
    assert await flight.run(work) == 2


async def test_a_closed_flight_reports_to_its_callers_that_only_the_work_was_cancelled() -> None:
    flight, work = SingleFlight[int](), Work()

    async def caller() -> str:
        try:
            await flight.run(work)
        except WorkCancelled:
            return "the work"
        return "nothing"

    task = asyncio.create_task(caller())
    await asyncio.wait_for(work.began.wait(), WAIT_SECONDS)
    await flight.aclose()

    assert await task == "the work"


async def test_a_failure_reaches_every_caller() -> None:
    flight = SingleFlight[int]()

    async def fail() -> int:
        raise ValueError("no")

    results = await asyncio.gather(*(flight.run(fail) for _ in range(3)), return_exceptions=True)
    assert [str(result) for result in results] == ["no"] * 3
