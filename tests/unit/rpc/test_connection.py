"""One connection from bytes to bytes: the checks of a message, and batches."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.connections import session as session_module
from jumpseat.connections.batch import BatchResponse
from jumpseat.connections.connection import ClientConnection
from jumpseat.connections.method import Method, MethodCall
from jumpseat.connections.outbox import Outbox
from jumpseat.connections.session import Session
from jumpseat.rpc.contract import CONTRACT
from jumpseat.rpc.methods import METHODS, NOTIFICATIONS_SENT
from jumpseat.system.environment import environment_of_process
from jumpseat.wire import INVALID_REQUEST, encode_frame, write_json
from tests.unit.connections.recorder import RecordingWriter


async def echo(session: Session, call: MethodCall[Any]) -> Any:
    return call.request_id


async def for_ever(session: Session, call: MethodCall[Any]) -> Any:
    await asyncio.Event().wait()


def return_object(session: Session, call: MethodCall[Any]) -> Any:
    return object()


class Client:
    """A connection without a process, which records the messages that the daemon sends."""

    def __init__(self, **handlers: Any) -> None:
        self.writer = RecordingWriter()
        self.stopped = 0
        own = {"echo": echo, "for_ever": for_ever, "unencodable": return_object, **handlers}
        self.connection = ClientConnection(
            self.writer,
            replace(
                CONTRACT,
                methods={**METHODS, **{name: Method(name, handler) for name, handler in own.items()}},
            ),
            environment=environment_of_process(),
            config_file=None,
            stop=self.stop,
            watch_parent=lambda process_id: None,
        )

    def stop(self) -> None:
        self.stopped += 1

    def send(self, *messages: Any) -> None:
        self.connection.receive(b"".join(encode_frame(write_json(message)) for message in messages))

    async def wait_for_answers(self, count: int) -> list[Any]:
        """Wait until this many messages were sent, and return all of them."""
        return await self.writer.wait_until(lambda messages: len(messages) >= count)


@pytest.fixture
async def client(home: Any) -> Client:
    made = Client()
    made.send(request(0, "initialize"), {"jsonrpc": "2.0", "method": "initialized"})
    made.writer.bodies.clear()
    return made


def request(request_id: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def codes(messages: list[Any]) -> list[tuple[Any, int | None]]:
    return [(each["id"], each["error"]["code"] if "error" in each else None) for each in messages]


def test_each_method_is_listed_under_its_name_and_is_not_a_notification() -> None:
    assert [name for name, method in METHODS.items() if name != method.name] == []
    assert set(METHODS).isdisjoint(NOTIFICATIONS_SENT)


def test_methods_of_the_table_have_unique_names() -> None:
    from jumpseat.rpc import methods

    assert len(methods._ROWS) == len(METHODS)


async def test_before_initialize_only_initialize_is_answered(home: Any) -> None:
    client = Client()
    client.send(request(1, "echo"), request(2, "nothing"), {"jsonrpc": "2.0", "method": "$/cancelRequest"})
    client.send(request(3, "initialize"))

    assert codes(client.writer.messages) == [(1, -32002), (2, -32002), (3, None)]


async def test_a_wrong_configuration_may_be_corrected_and_sent_again(home: Any) -> None:
    client = Client()
    wrong = {"initializationOptions": {"config": {"proxy": "x"}}}
    client.send(request(1, "initialize", wrong), request(2, "initialize"), request(3, "initialize"))

    assert codes(client.writer.messages) == [(1, 1010), (2, None), (3, -32600)]


async def test_a_reused_id_in_flight_is_refused_and_the_first_request_continues(client: Client) -> None:
    client.send(request(1, "for_ever"), request(1, "echo"), request("1", "echo"))
    assert codes(await client.wait_for_answers(2)) == [(1, -32600), ("1", None)]

    client.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
    assert codes(await client.wait_for_answers(3))[2] == (1, -32800)
    client.send(request(1, "echo"))
    assert codes(await client.wait_for_answers(4))[3] == (1, None)


async def test_a_result_that_json_cannot_hold_is_answered_with_an_error(client: Client) -> None:
    client.send(request(1, "unencodable"), [request(2, "unencodable"), request(3, "echo")])

    alone, batch = await client.wait_for_answers(2)
    assert codes([alone]) == [(1, -32603)]
    assert sorted(codes(batch)) == [(2, -32603), (3, None)]


async def test_a_rejected_message_does_not_stay_in_flight(client: Client) -> None:
    client.send(request(1, "chat/start", {}), request(2, "nothing"), request(3, "exit"))

    assert codes(client.writer.messages) == [(1, -32602), (2, -32601), (3, -32601)]
    assert client.connection.session.in_flight == {}
    assert client.stopped == 0


async def test_a_turn_id_in_flight_is_refused_before_the_turn_starts(client: Client) -> None:
    start = {"messages": [{"role": "user", "content": "hi"}], "turnId": "t", "model": "unknown"}
    client.send(request(1, "chat/start", start), request(2, "chat/start", start))

    first = client.writer.messages[0]
    assert (first["id"], first["error"]["data"]["errors"][0]["path"]) == (2, "turnId")
    await client.wait_for_answers(2)
    assert client.connection.session.in_flight == {}


async def test_a_response_without_a_request_is_not_answered(client: Client) -> None:
    client.send({"jsonrpc": "2.0", "id": 1, "result": 5}, request(2, "echo"))

    assert codes(await client.wait_for_answers(1)) == [(2, None)]


@pytest.mark.parametrize("params", [None, {}, {"id": 5}, {"id": [1]}, "x", 5])
async def test_a_cancel_without_a_request_is_ignored(client: Client, params: Any) -> None:
    client.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params}, request(1, "echo"))

    assert codes(await client.wait_for_answers(1)) == [(1, None)]


async def test_shutdown_answers_after_the_requests_that_it_cancels(client: Client) -> None:
    client.send(request(1, "for_ever"), request(2, "shutdown"), request(3, "echo"))

    assert codes(await client.wait_for_answers(3)) == [(3, -32600), (1, -32800), (2, None)]
    client.send({"jsonrpc": "2.0", "method": "exit"})
    assert client.stopped == 1


@pytest.mark.requirement("1:batch")
async def test_a_batch_is_answered_by_one_array_once_all_are_done(client: Client) -> None:
    note = {"jsonrpc": "2.0", "method": "$/unknown"}
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 2}}
    client.send([request(1, "echo"), note, request(2, "for_ever"), 5, request(3, "nothing")])
    await asyncio.sleep(0)
    assert client.writer.messages == []

    client.send(cancel)
    [batch] = await client.wait_for_answers(1)
    assert sorted(codes(batch), key=str) == sorted(
        [(1, None), (2, -32800), (None, -32600), (3, -32601)], key=str
    )


@pytest.mark.requirement("1:batch")
async def test_a_batch_of_notifications_is_not_answered(client: Client) -> None:
    client.send([{"jsonrpc": "2.0", "method": "$/unknown"}], request(1, "echo"))

    assert codes(await client.wait_for_answers(1)) == [(1, None)]


@pytest.mark.requirement("1:batch")
async def test_an_id_twice_in_a_batch_is_refused_the_second_time(client: Client) -> None:
    client.send([request(1, "echo"), request(1, "echo")])

    [batch] = await client.wait_for_answers(1)
    assert sorted(codes(batch), key=str) == [(1, -32600), (1, None)]


def test_a_batch_is_not_answered_before_all_its_requests_are_read() -> None:
    writer = RecordingWriter()
    batch = BatchResponse(Outbox(writer, encode_frame))
    batch.expect()
    batch.add({"id": 1})
    assert writer.messages == []

    batch.expect()
    batch.close()
    assert writer.messages == []
    batch.add({"id": 2})
    assert writer.messages == [[{"id": 1}, {"id": 2}]]


async def test_a_request_above_the_limit_is_refused_and_those_in_flight_continue(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "MAX_IN_FLIGHT", 3)
    client.send(*(request(number, "for_ever") for number in (1, 2, 3, 4)))
    [refused] = await client.wait_for_answers(1)
    assert (refused["id"], refused["error"]["code"]) == (4, INVALID_REQUEST)

    client.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
    await client.wait_for_answers(2)
    client.send(request(5, "echo"))
    assert (await client.wait_for_answers(3))[-1]["result"] == 5
