"""The private parts of pygls that the dispatcher relies on: two names and one attribute.

If an update of pygls breaks one of these tests, check `connections/dispatcher.py` before changing the pin.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import cattrs
import pytest
from pygls.protocol import JsonRPCProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage
from pygls.server import JsonRPCServer


class Recording(JsonRPCProtocol):
    """Records the messages that pygls sends."""

    sent: list[Any]
    changed: asyncio.Event

    def _send_data(self, data: Any) -> None:
        self.sent.append(data)
        self.changed.set()


class Writer:
    """A writer that must never be used."""

    def write(self, data: bytes) -> None:
        raise AssertionError(data)

    def close(self) -> None:
        """Nothing to close."""


def protocol_with(**features: Any) -> Recording:
    server = JsonRPCServer(Recording, cattrs.Converter)
    protocol = server.protocol
    assert isinstance(protocol, Recording)
    protocol.sent, protocol.changed = [], asyncio.Event()
    protocol.set_writer(Writer())
    for name, handler in features.items():
        server.feature(name)(handler)
    return protocol


def request(protocol: JsonRPCProtocol, request_id: int | str, method: str, params: Any = None) -> None:
    protocol.handle_message(JsonRPCRequestMessage(request_id, method, "2.0", params))


async def collect_messages(protocol: Recording) -> list[Any]:
    """Wait for the first message, and a moment longer, so that a surplus message is noticed; return all."""
    async with asyncio.timeout(10):
        await protocol.changed.wait()
    for _ in range(3):
        await asyncio.sleep(0)
    return protocol.sent


def test_the_private_names_exist_with_these_parameters() -> None:
    assert list(inspect.signature(JsonRPCProtocol._send_data).parameters) == ["self", "data"]
    assert list(inspect.signature(JsonRPCProtocol._handle_cancel_notification).parameters) == [
        "self",
        "msg_id",
    ]
    assert protocol_with()._request_futures == {}


async def test_a_handler_gets_the_params_object_itself() -> None:
    given: list[Any] = []
    params = object()
    protocol = protocol_with(now=lambda params: given.append(params))
    request(protocol, 1, "now", params)
    protocol.handle_message(JsonRPCNotification("now", "2.0", params))

    assert given == [params, params]


@pytest.mark.parametrize("request_id", [1, "one"])
async def test_the_answer_of_a_plain_function_is_sent_before_the_next_message_is_read(
    request_id: Any,
) -> None:
    protocol = protocol_with(now=lambda params: ("result", params))
    request(protocol, request_id, "now", 5)

    [answer] = protocol.sent
    assert isinstance(answer, JsonRPCResponseMessage)
    assert (answer.id, answer.result) == (request_id, ("result", 5))


async def test_a_coroutine_function_runs_as_a_task_and_its_answer_is_sent_the_same_way() -> None:
    async def later(params: Any) -> Any:
        await asyncio.sleep(0)
        return params

    protocol = protocol_with(later=later)
    request(protocol, 1, "later", 5)
    assert list(protocol._request_futures) == [1]
    assert protocol.sent == []

    [answer] = await collect_messages(protocol)
    assert isinstance(answer, JsonRPCResponseMessage)
    assert (answer.id, answer.result) == (1, 5)
    assert protocol._request_futures == {}


async def test_a_notification_does_not_send_a_response() -> None:
    async def later(params: Any) -> Any:
        done.set()
        return params

    done = asyncio.Event()
    protocol = protocol_with(now=lambda params: params, later=later)
    for method in ("now", "later", "unknown"):
        protocol.handle_message(JsonRPCNotification(method, "2.0", 5))
    async with asyncio.timeout(10):
        await done.wait()
    for _ in range(3):
        await asyncio.sleep(0)

    assert protocol.sent == []


async def test_a_request_cancelled_before_it_starts_never_runs() -> None:
    ran: list[Any] = []

    async def later(params: Any) -> None:
        ran.append(params)

    protocol = protocol_with(later=later)
    request(protocol, 1, "later")
    protocol._handle_cancel_notification(1)

    [answer] = await collect_messages(protocol)
    assert (answer.id, answer.error.code, ran) == (1, -32800, [])
    assert not isinstance(answer, JsonRPCResponseMessage)


async def test_a_request_that_is_cancelled_while_it_runs_may_still_answer() -> None:
    started = asyncio.Event()

    async def later(params: Any) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "partial"

    protocol = protocol_with(later=later)
    request(protocol, 1, "later")
    async with asyncio.timeout(10):
        await started.wait()
    protocol._handle_cancel_notification(1)

    [answer] = await collect_messages(protocol)
    assert isinstance(answer, JsonRPCResponseMessage)
    assert (answer.id, answer.result) == (1, "partial")


async def test_a_second_cancel_has_no_effect_while_the_first_is_handled() -> None:
    started, ending, gate = asyncio.Event(), asyncio.Event(), asyncio.Event()
    interruptions = 0

    async def later(params: Any) -> Any:
        nonlocal interruptions
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            interruptions += 1
            ending.set()
            await gate.wait()
            return "partial"

    protocol = protocol_with(later=later)
    request(protocol, 1, "later")
    async with asyncio.timeout(10):
        await started.wait()
        protocol._handle_cancel_notification(1)
        await ending.wait()
    assert 1 not in protocol._request_futures

    protocol._handle_cancel_notification(1)
    gate.set()
    [answer] = await collect_messages(protocol)
    assert (answer.result, interruptions) == ("partial", 1)


@pytest.mark.parametrize("request_id", [2, "1", "unknown"])
async def test_a_cancel_of_an_unknown_id_is_ignored(request_id: Any) -> None:
    gate = asyncio.Event()

    async def later(params: Any) -> str:
        await gate.wait()
        return "whole"

    protocol = protocol_with(later=later)
    request(protocol, 1, "later")
    await asyncio.sleep(0)
    protocol._handle_cancel_notification(request_id)
    gate.set()

    [answer] = await collect_messages(protocol)
    assert answer.result == "whole"
