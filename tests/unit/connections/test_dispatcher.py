"""The dispatcher: each request gets exactly one answer, for any behaviour of its handler."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from jumpseat.chat import RequestError
from jumpseat.connections import session as session_module
from jumpseat.connections.dispatcher import Dispatcher
from jumpseat.connections.faults import CANCELLED
from jumpseat.connections.method import HandlerOutcome, Method, MethodCall
from jumpseat.connections.outbox import Outbox
from jumpseat.connections.param_model import NoParams
from jumpseat.connections.session import MAX_BEGINNING_TURNS, RUNNING_REQUESTS, Session
from jumpseat.system.environment import environment_of_process
from jumpseat.wire import encode_frame
from tests.unit.connections.recorder import RecordingWriter


class Desk:
    """A dispatcher of these handlers, and its answers."""

    def __init__(self, kind: Literal["request", "notification"] = "request", **handlers: Any) -> None:
        self.answers: list[tuple[Any, HandlerOutcome]] = []
        self.changed = asyncio.Event()
        session = Session(
            outbox=Outbox(RecordingWriter(), encode_frame),
            environment=environment_of_process(),
            config_file=None,
            stop=lambda: None,
            cancel=lambda request_id: False,
            watch_parent=lambda process_id: None,
        )
        rows = [
            handler if isinstance(handler, Method) else Method(name, handler, kind=kind)
            for name, handler in handlers.items()
        ]
        self.dispatcher = Dispatcher(session, rows, self.answer)

    def answer(self, request_id: Any, outcome: HandlerOutcome) -> None:
        self.answers.append((request_id, outcome))
        self.changed.set()

    def ask(self, request_id: Any, method: str) -> None:
        self.dispatcher.run_request(request_id, method, MethodCall(NoParams(), request_id))

    async def wait_for(self, count: int) -> list[tuple[Any, HandlerOutcome]]:
        """Wait for this many answers, and a moment longer, so that a surplus answer is noticed."""
        async with asyncio.timeout(10):
            while len(self.answers) < count:
                self.changed.clear()
                await self.changed.wait()
        for _ in range(3):
            await asyncio.sleep(0)
        return self.answers


def now(session: Session, call: MethodCall[Any]) -> Any:
    return call.request_id


async def later(session: Session, call: MethodCall[Any]) -> Any:
    await asyncio.sleep(0)
    return call.request_id


async def for_ever(session: Session, call: MethodCall[Any]) -> Any:
    await asyncio.Event().wait()


def fails(error: Exception) -> Any:
    def handler(session: Session, call: MethodCall[Any]) -> None:
        raise error

    return handler


def fails_later(error: Exception) -> Any:
    async def handler(session: Session, call: MethodCall[Any]) -> None:
        raise error

    return handler


async def test_a_result_is_answered_under_the_id_of_its_request() -> None:
    desk = Desk(now=now, later=later)
    desk.ask(1, "later")
    desk.ask("1", "now")

    assert await desk.wait_for(2) == [("1", HandlerOutcome("1")), (1, HandlerOutcome(1))]


async def test_an_outcome_is_passed_on_unchanged() -> None:
    outcome = HandlerOutcome(error=CANCELLED)
    desk = Desk(now=lambda session, call: outcome)
    desk.ask(1, "now")

    assert (await desk.wait_for(1))[0][1] is outcome


@pytest.mark.parametrize("make", [fails, fails_later])
@pytest.mark.parametrize(
    ("error", "code"),
    [(RequestError("No."), 1004), (ZeroDivisionError("sk-secret"), -32603), (TimeoutError(), -32603)],
)
@pytest.mark.requirement("6:internal")
async def test_an_exception_becomes_an_error_and_unexpected_texts_are_hidden(
    make: Any, error: Exception, code: int
) -> None:
    desk = Desk(fails=make(error))
    desk.ask(1, "fails")

    [(_, outcome)] = await desk.wait_for(1)
    assert outcome.error is not None
    assert outcome.error.code == code
    assert "sk-secret" not in str(outcome)


@pytest.mark.parametrize("started", [True, False])
async def test_a_cancelled_request_is_answered_once(started: bool) -> None:
    desk = Desk(for_ever=for_ever)
    desk.ask(1, "for_ever")
    if started:
        await asyncio.sleep(0)

    assert desk.dispatcher.cancel(1) is True
    assert desk.dispatcher.cancel(1) is False
    assert await desk.wait_for(1) == [(1, HandlerOutcome(error=CANCELLED))]


async def test_cancelling_an_unknown_finished_or_differently_typed_id_returns_false() -> None:
    desk = Desk(for_ever=for_ever, later=later)
    desk.ask(1, "for_ever")
    desk.ask(2, "later")
    await desk.wait_for(1)

    assert [desk.dispatcher.cancel(each) for each in ("1", 2, 3)] == [False, False, False]
    assert desk.dispatcher.cancel(1) is True
    await desk.wait_for(2)


@pytest.mark.parametrize("handler", [now, fails(ZeroDivisionError("x")), fails(RequestError("No."))])
async def test_a_notification_is_not_answered(handler: Any) -> None:
    desk = Desk("notification", note=handler)
    desk.dispatcher.run_notification("note", MethodCall(NoParams()))
    for _ in range(3):
        await asyncio.sleep(0)

    assert desk.answers == []


async def test_a_flood_of_requests_runs_a_few_at_a_time_and_a_turn_does_not_wait_for_it() -> None:
    running = most = 0
    gate = asyncio.Event()

    async def waits(session: Session, call: MethodCall[Any]) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await gate.wait()
        running -= 1
        return 0

    desk = Desk(waits=waits, turn=Method("turn", later, admit=lambda session, call: None))
    for number in range(10 * RUNNING_REQUESTS):
        desk.ask(number, "waits")
    desk.ask("turn", "turn")
    assert await desk.wait_for(1) == [("turn", HandlerOutcome("turn"))]
    assert desk.dispatcher.cancel(10 * RUNNING_REQUESTS - 1)
    gate.set()
    answers = await desk.wait_for(10 * RUNNING_REQUESTS + 1)

    assert most == RUNNING_REQUESTS
    assert [outcome.error for _, outcome in answers].count(CANCELLED) == 1


def turns(handler: Any) -> Desk:
    return Desk(turn=Method("turn", handler, admit=lambda session, call: None))


async def test_a_flood_of_turns_begins_a_few_at_a_time_and_any_number_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_module, "BEGIN_SLOT_SECONDS", 60)
    count = 20 * MAX_BEGINNING_TURNS
    beginning = most = 0
    together = asyncio.Barrier(count)

    async def turn(session: Session, call: MethodCall[Any]) -> int:
        nonlocal beginning, most
        beginning += 1
        most = max(most, beginning)
        await asyncio.sleep(0)
        beginning -= 1
        call.entry.on_answer()
        await together.wait()
        return 0

    desk = turns(turn)
    for number in range(count):
        desk.ask(number, "turn")
    answers = await desk.wait_for(count)

    assert most == MAX_BEGINNING_TURNS
    assert all(outcome == HandlerOutcome(0) for _, outcome in answers)


async def test_turns_of_a_slow_provider_do_not_delay_other_turns() -> None:
    # No turn gets an answer before all of them have begun.
    together = asyncio.Barrier(20 * MAX_BEGINNING_TURNS)

    async def turn(session: Session, call: MethodCall[Any]) -> None:
        await together.wait()

    desk = turns(turn)
    for number in range(together.parties):
        desk.ask(number, "turn")

    answers = await desk.wait_for(together.parties)

    assert all(outcome == HandlerOutcome(None) for _, outcome in answers)


async def test_a_turn_that_waits_to_begin_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "BEGIN_SLOT_SECONDS", 60)
    began: list[Any] = []

    async def turn(session: Session, call: MethodCall[Any]) -> None:
        began.append(call.request_id)
        await asyncio.Event().wait()

    desk = turns(turn)
    numbers = list(range(MAX_BEGINNING_TURNS + 2))
    for number in numbers:
        desk.ask(number, "turn")
    for _ in range(5):
        await asyncio.sleep(0)
    desk.dispatcher.cancel(MAX_BEGINNING_TURNS)

    assert await desk.wait_for(1) == [(MAX_BEGINNING_TURNS, HandlerOutcome(error=CANCELLED))]
    desk.dispatcher.cancel(0)
    await desk.wait_for(2)
    assert began == [*range(MAX_BEGINNING_TURNS), MAX_BEGINNING_TURNS + 1]
    for number in numbers:
        desk.dispatcher.cancel(number)
    await desk.wait_for(len(numbers))
