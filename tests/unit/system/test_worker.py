"""The thread of long computations."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from jumpseat.system.worker import compute, one_computation_at_a_time

name: ContextVar[str] = ContextVar("name")


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def session(*work: object) -> None:
    """Start all computations of a session at once."""
    with one_computation_at_a_time():
        async with asyncio.TaskGroup() as tasks:
            for each in work:
                tasks.create_task(each())  # type: ignore[operator]


async def test_only_a_long_computation_runs_in_the_thread_and_it_keeps_its_context() -> None:
    name.set("mine")
    here = threading.get_ident()

    assert await compute(False, threading.get_ident) == here
    assert await compute(True, threading.get_ident) != here
    assert await compute(True, name.get) == "mine"
    with pytest.raises(ZeroDivisionError):
        await compute(True, divmod, 1, 0)


async def test_a_session_waits_for_one_computation_of_another_at_most(gate: threading.Event) -> None:
    order: list[str] = []

    async def blocked() -> None:
        await compute(True, gate.wait, 20)

    async def flood() -> None:
        await compute(True, order.append, "flood")

    async def other() -> None:
        await compute(True, order.append, "other")

    flooding = asyncio.create_task(session(blocked, *[flood] * 5))
    await asyncio.sleep(0.01)
    waiting = asyncio.create_task(session(other))
    await asyncio.sleep(0.01)
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
