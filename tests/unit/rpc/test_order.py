"""Messages take effect in the order of their arrival, even if some of them are cancelled."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.connections import session as session_module
from jumpseat.connections.connection import ClientConnection
from jumpseat.connections.method import Method, MethodCall
from jumpseat.connections.session import MAX_BEGINNING_TURNS, Session
from jumpseat.rpc.contract import CONTRACT
from jumpseat.rpc.methods import METHODS
from jumpseat.system.environment import environment_of_process
from jumpseat.wire import encode_frame, write_json
from tests.unit.connections.recorder import RecordingWriter

pytestmark = pytest.mark.requirement("1:order")


class GatedConnection:
    """A connection whose changes end, and whose turns begin, when the test opens their gates.

    `log` lists the effects in order.
    """

    def __init__(self) -> None:
        self.writer = RecordingWriter()
        self.log: list[Any] = []
        self.gates: dict[Any, asyncio.Event] = {}
        rows = (
            Method("change", self.change, changes=True),
            Method("$/change", self.change, kind="notification", changes=True, lifecycle=True),
            Method("ask", self.ask),
            Method("turn", self.turn, admit=self.reserve),
        )
        self.connection = ClientConnection(
            self.writer,
            replace(CONTRACT, methods={**METHODS, **{row.name: row for row in rows}}),
            environment=environment_of_process(),
            config_file=None,
            stop=lambda: None,
            watch_parent=lambda process_id: None,
        )
        self.send((0, "initialize"))
        self.writer.bodies.clear()

    def gate(self, name: Any) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())

    async def change(self, session: Session, call: MethodCall[Any]) -> None:
        name = call.request_id or "notified"
        self.log.append(f"{name} begins")
        await self.gate(name).wait()
        self.log.append(f"{name} took effect")

    async def ask(self, session: Session, call: MethodCall[Any]) -> None:
        self.log.append(call.request_id)

    def reserve(self, session: Session, call: MethodCall[Any]) -> None:
        call.entry.turn_id = str(call.request_id)

    async def turn(self, session: Session, call: MethodCall[Any]) -> None:
        self.log.append(call.request_id)
        await self.gate(call.request_id).wait()
        self.log.append(f"{call.request_id} begins")
        call.entry.begun.set()
        await asyncio.Event().wait()

    def send(self, *messages: tuple[Any, str], **params: Any) -> None:
        """Send messages, each given by its id and method. A message whose id is None is a notification."""
        for request_id, method in messages:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            identified = message if request_id is None else {**message, "id": request_id}
            self.connection.receive(encode_frame(write_json(identified)))

    def cancel(self, request_id: Any) -> None:
        self.send((None, "$/cancelRequest"), id=request_id)

    async def wait_for_answers(self, count: int) -> list[Any]:
        messages = await self.writer.wait_until(lambda sent: len(sent) >= count)
        return [message["id"] for message in messages]


@pytest.fixture
async def gated(home: Any) -> GatedConnection:
    return GatedConnection()


async def settle() -> None:
    """Run the event loop until nothing more can run."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("message", [(1, "change"), (None, "$/change")])
async def test_a_request_waits_for_the_change_before_it_but_not_for_the_one_after_it(
    gated: GatedConnection, message: Any
) -> None:
    name = message[0] or "notified"
    gated.send((9, "ask"), message, (2, "ask"), (3, "change"))
    await settle()
    assert gated.log == [9, f"{name} begins"]

    gated.gate(name).set()
    await settle()
    assert gated.log[2:] == [f"{name} took effect", 2, "3 begins"]


async def test_waiting_and_running_requests_can_be_cancelled(gated: GatedConnection) -> None:
    gated.send((1, "turn"))
    await settle()
    gated.send((None, "$/change"), (2, "ask"))
    gated.cancel(1)
    gated.cancel(2)

    assert sorted(await gated.wait_for_answers(2)) == [1, 2]
    await settle()
    assert gated.log == [1, "notified begins"]


async def test_after_a_cancelled_change_later_requests_still_wait_for_earlier_changes(
    gated: GatedConnection,
) -> None:
    gated.send((1, "change"), (2, "change"), (3, "ask"))
    await settle()
    gated.cancel(2)
    assert await gated.wait_for_answers(1) == [2]
    await settle()
    assert gated.log == ["1 begins"]

    gated.gate(1).set()
    assert await gated.wait_for_answers(3) == [2, 1, 3]


async def test_a_change_that_never_began_does_not_delay_others(gated: GatedConnection) -> None:
    gated.send((1, "change"), (2, "ask"))
    gated.cancel(1)

    assert await gated.wait_for_answers(2) == [1, 2]
    assert gated.log == [2]


async def test_a_change_waits_for_the_turns_before_it_to_begin_but_not_to_end(gated: GatedConnection) -> None:
    gated.send((1, "turn"))
    await settle()
    gated.send((2, "change"))
    await settle()
    assert gated.log == [1]

    gated.gate(1).set()
    gated.gate(2).set()
    assert await gated.wait_for_answers(1) == [2]
    assert gated.log == [1, "1 begins", "2 begins", "2 took effect"]


async def test_a_change_waits_for_earlier_turns_that_wait_for_a_slot_to_begin(
    gated: GatedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The turns of this test never begin. Because `CHANGE_WAIT_SECONDS` is 0, the change does not wait for the
    # turns that have a slot, but it still waits until every earlier turn has got one.
    monkeypatch.setattr(session_module, "CHANGE_WAIT_SECONDS", 0)
    monkeypatch.setattr(session_module, "BEGIN_SLOT_SECONDS", 60)
    turns = list(range(1, MAX_BEGINNING_TURNS + 2))
    gated.send(*((number, "turn") for number in turns), (100, "change"))
    await settle()
    assert gated.log == turns[:-1]

    gated.cancel(1)
    gated.cancel(2)
    await gated.wait_for_answers(2)
    await settle()
    assert gated.log == [*turns, "100 begins"]


async def test_shutdown_does_not_wait_for_changes(gated: GatedConnection) -> None:
    gated.send((None, "$/change"), (1, "ask"), (2, "shutdown"))

    assert await gated.wait_for_answers(2) == [1, 2]


async def test_the_entries_of_many_changes_are_released(gated: GatedConnection) -> None:
    for number in range(1, 200):
        gated.gate(number).set()
        gated.send((number, "change"))
    gated.send((1000, "ask"))
    await gated.wait_for_answers(200)

    assert gated.log[-1] == 1000
    last = gated.connection.session._last_change
    assert last is None or last.previous_change is None
