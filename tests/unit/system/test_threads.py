"""Running functions outside the event loop: waiting for the system, and long computations."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from jumpseat.system.threads import compute, one_computation_at_a_time, run_blocking

name: ContextVar[str] = ContextVar("name")


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def session(*work: object) -> None:
    """Start all computations of a session concurrently."""
    with one_computation_at_a_time():
        async with asyncio.TaskGroup() as tasks:
            for each in work:
                tasks.create_task(each())


async def queue_computations() -> None:
    """Run the event loop until the tasks of a session wait for the thread or for their turn."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_only_a_long_computation_runs_in_the_thread_where_it_keeps_its_context() -> None:
    name.set("mine")
    here = threading.get_ident()

    assert await compute(False, threading.get_ident) == here
    assert await compute(True, threading.get_ident) != here
    assert await compute(True, name.get) == "mine"
    with pytest.raises(ZeroDivisionError):
        await compute(True, divmod, 1, 0)


async def test_a_session_waits_for_at_most_one_computation_of_another_session(gate: threading.Event) -> None:
    order: list[str] = []

    async def block() -> None:
        await compute(True, gate.wait, 20)

    async def flood() -> None:
        await compute(True, order.append, "flood")

    async def other() -> None:
        await compute(True, order.append, "other")

    flooding = asyncio.create_task(session(block, *[flood] * 5))
    await queue_computations()
    waiting = asyncio.create_task(session(other))
    await queue_computations()
    gate.set()
    await asyncio.wait_for(asyncio.gather(flooding, waiting), 20)
    assert order == ["other", *["flood"] * 5]


async def test_a_cancelled_computation_that_has_not_begun_never_runs(gate: threading.Event) -> None:
    ran: list[str] = []
    first = asyncio.create_task(compute(True, gate.wait, 20))
    await asyncio.sleep(0)
    second = asyncio.create_task(compute(True, ran.append, "second"))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    await asyncio.sleep(0)
    gate.set()
    await asyncio.wait_for(first, 20)
    await compute(True, ran.append, "third")
    assert ran == ["third"]


async def test_blocking_work_keeps_its_context_and_its_errors() -> None:
    name.set("mine")

    for limit in (None, 20):
        assert await run_blocking(name.get, within=limit) == "mine"
        with pytest.raises(ZeroDivisionError):
            await run_blocking(divmod, 1, 0, within=limit)


async def test_work_that_takes_longer_than_its_limit_is_abandoned(gate: threading.Event) -> None:
    with pytest.raises(TimeoutError):
        await run_blocking(gate.wait, 20, within=0.01)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, StopIteration])
async def test_an_exception_that_would_end_the_event_loop_becomes_an_error(
    error: type[BaseException],
) -> None:
    def fail() -> None:
        raise error("a secret")

    with pytest.raises(RuntimeError, match=f"^{error.__name__}$"):
        await run_blocking(fail, within=20)


async def test_cancelled_work_without_a_limit_still_runs_to_its_end(gate: threading.Event) -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        gate.wait(20)
        ended.set()

    task = asyncio.create_task(run_blocking(work))
    assert await run_blocking(begun.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    assert await run_blocking(ended.wait, 20)
