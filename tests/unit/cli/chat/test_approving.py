"""Decisions about calls: one question at a time, and none after the turn."""

from __future__ import annotations

import asyncio

import pytest

from jumpseat_cli.chat.approving import Approver
from jumpseat_cli.chat.tool_selection import ToolSelection
from jumpseat_client import ToolDecision
from tests.unit.cli.chat.test_tool_question import approval


class Person:
    """A person who answers questions when the test says so."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: asyncio.Queue[str] = asyncio.Queue()
        self.was_interrupted = False

    async def ask_line(self, question: str) -> str | None:
        self.asked.append(question)
        try:
            return await self.answers.get()
        except asyncio.CancelledError:
            self.was_interrupted = True
            raise


@pytest.fixture
def person() -> Person:
    return Person()


async def test_the_end_of_the_turn_withdraws_every_question(person: Person) -> None:
    approver = Approver(ToolSelection(), person.ask_line)
    deciding = [asyncio.create_task(approver.decide(approval(call_id=each))) for each in ("c1", "c2")]
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await approver.end_turn()
        assert [type(each) for each in await asyncio.gather(*deciding, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * 2

    assert len(person.asked) == 1
    assert person.was_interrupted


async def test_questions_are_asked_one_after_the_other(person: Person) -> None:
    approver = Approver(ToolSelection(), person.ask_line)
    first = asyncio.create_task(approver.decide(approval(call_id="c1")))
    second = asyncio.create_task(approver.decide(approval(call_id="c2", tool="rake")))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(approver.wait_until_answered())
    await asyncio.sleep(0)
    assert (len(person.asked), waiting.done()) == (1, False)
    person.answers.put_nowait("y")
    async with asyncio.timeout(10):
        assert await first == ToolDecision(True)
        person.answers.put_nowait("n")
        assert await second == ToolDecision(False)
        await waiting


async def test_an_answer_is_not_applied_to_the_next_turn(person: Person) -> None:
    approver = Approver(ToolSelection(), person.ask_line)
    person.answers.put_nowait("a")
    await approver.decide(approval(remember=["turn"]))
    approver.begin_turn(pause=lambda: None, stop=lambda: None)
    person.answers.put_nowait("n")
    # If the previous answer still covered the call, the approver would wait for two seconds.
    async with asyncio.timeout(1):
        assert await approver.decide(approval(remember=["turn"])) == ToolDecision(False)


async def test_ctrl_c_stops_the_turn_and_denies_the_call() -> None:
    async def ask_line(question: str) -> str | None:
        raise KeyboardInterrupt

    stopped: list[bool] = []
    approver = Approver(ToolSelection(), ask_line)
    approver.begin_turn(pause=lambda: None, stop=lambda: stopped.append(True))

    assert await approver.decide(approval()) == ToolDecision(False)
    assert stopped == [True]
