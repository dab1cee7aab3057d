"""Two real peers that exchange messages, and one that receives raw bytes."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from jumpseat.wire import MessageReader, Peer, PeerClosed, RpcError, encode_frame


def frame(message: Any) -> bytes:
    return encode_frame(json.dumps(message).encode())


class Wire:
    """A recorder of the messages that a peer writes."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self._reader = MessageReader()

    def write(self, data: bytes) -> None:
        self.sent += self._reader.feed(data)


def connect(**server: Any) -> tuple[Peer, Peer]:
    """Connect two peers; bytes arrive in the next iteration of the event loop, as over a pipe."""
    loop = asyncio.get_running_loop()
    client = Peer(lambda data: loop.call_soon(other.feed, data) and None)
    other = Peer(lambda data: loop.call_soon(client.feed, data) and None, **server)
    return client, other


async def wait_bounded(awaitable: Any) -> Any:
    return await asyncio.wait_for(awaitable, 20)


async def test_a_request_gets_its_result() -> None:
    async def echo(method: str, params: Any) -> Any:
        return [method, params]

    client, _ = connect(on_request=echo)
    assert await wait_bounded(client.request("m", {"a": 1})) == ["m", {"a": 1}]
    assert await wait_bounded(client.request("m")) == ["m", None]


async def test_answers_may_come_in_any_order_after_a_notification_and_in_a_batch() -> None:
    wire, seen = Wire(), []
    peer = Peer(wire.write, on_notification=lambda method, params: seen.append((method, params)))
    first, one = peer.start_request("a")
    second, two = peer.start_request("b")
    peer.feed(
        frame({"jsonrpc": "2.0", "method": "early", "params": [1]})
        + frame({"jsonrpc": "2.0", "id": 99, "result": "unrequested"})
        + frame([{"jsonrpc": "2.0", "id": second, "result": 2}, {"jsonrpc": "2.0", "id": first, "result": 1}])
    )
    assert (await wait_bounded(one), await wait_bounded(two), seen) == (1, 2, [("early", [1])])


async def test_an_error_is_raised_with_code_and_data() -> None:
    async def fail(method: str, params: Any) -> Any:
        raise RpcError(1004, "No such model.", {"kind": "request"})

    client, _ = connect(on_request=fail)
    with pytest.raises(RpcError, match=r"No such model\.") as caught:
        await wait_bounded(client.request("m"))
    assert (caught.value.code, caught.value.data) == (1004, {"kind": "request"})


async def test_without_a_handler_requests_are_refused() -> None:
    client, _ = connect()
    with pytest.raises(RpcError, match="not found: m") as caught:
        await wait_bounded(client.request("m"))
    assert caught.value.code == -32601


async def test_a_defect_of_a_handler_is_logged_and_not_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def raise_key_error(method: str, params: Any) -> Any:
        raise KeyError("secret")

    client, _ = connect(on_request=raise_key_error)
    with pytest.raises(RpcError) as caught:
        await wait_bounded(client.request("m"))
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32603, "Internal error.", None)
    assert "secret" in caplog.text


async def test_a_failing_notification_handler_does_not_stop_the_next_message() -> None:
    def raise_key_error(method: str, params: Any) -> None:
        raise KeyError(method)

    peer = Peer(Wire().write, on_notification=raise_key_error)
    request_id, future = peer.start_request("a")
    peer.feed(
        frame({"jsonrpc": "2.0", "method": "n"}) + frame({"jsonrpc": "2.0", "id": request_id, "result": 1})
    )
    assert await wait_bounded(future) == 1


async def test_a_cancelled_caller_cancels_the_request_on_both_sides() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def slow(method: str, params: Any) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    client, _ = connect(on_request=slow)
    task = asyncio.create_task(client.request("m"))
    await wait_bounded(started.wait())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait_bounded(task)
    await wait_bounded(stopped.wait())


async def test_cancel_names_the_request_whose_answer_is_still_awaited() -> None:
    wire = Wire()
    peer = Peer(wire.write, cancel_method="$/stop")
    request_id, future = peer.start_request("a")
    peer.cancel(request_id)
    assert wire.sent[1] == {"jsonrpc": "2.0", "method": "$/stop", "params": {"id": request_id}}
    peer.feed(frame({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32800, "message": "Cancelled."}}))
    with pytest.raises(RpcError):
        await wait_bounded(future)
    peer.cancel(request_id)
    assert len(wire.sent) == 2


async def test_close_fails_waiting_and_later_requests() -> None:
    wire = Wire()
    peer = Peer(wire.write)
    _, future = peer.start_request("a")
    peer.close("The child died.")
    peer.close("Again.")
    for waiting in (future, peer.request("b")):
        with pytest.raises(PeerClosed, match=r"The child died\."):
            await wait_bounded(waiting)
    with pytest.raises(PeerClosed):
        peer.notify("n")
    peer.feed(frame({"jsonrpc": "2.0", "id": 5, "method": "m"}))
    assert len(wire.sent) == 1


async def test_a_request_id_in_use_and_an_invalid_message_are_refused() -> None:
    async def slow(method: str, params: Any) -> Any:
        await asyncio.Event().wait()

    wire = Wire()
    peer = Peer(wire.write, on_request=slow)
    peer.feed(frame({"jsonrpc": "2.0", "id": 1, "method": "m"}) * 2 + frame({"id": 2, "method": "m"}))
    assert [(answer["id"], answer["error"]["code"]) for answer in wire.sent] == [(1, -32600), (2, -32600)]
    peer.close("Done.")
    await asyncio.sleep(0)


async def test_garbage_is_logged_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire()
    peer = Peer(wire.write)
    request_id, future = peer.start_request("a")
    with caplog.at_level(logging.WARNING):
        peer.feed(b"Warning!\n" + frame({"jsonrpc": "2.0", "id": request_id, "result": 1}))
    assert await wait_bounded(future) == 1
    assert "not a header" in caplog.text
    assert len(wire.sent) == 1


@pytest.mark.parametrize("params", [None, [], {}, {"id": []}, {"id": {}}, {"id": None}, {"id": 7}])
async def test_an_invalid_cancel_affects_no_other_message(params: Any) -> None:
    peer = Peer(Wire().write)
    request_id, future = peer.start_request("a")
    peer.feed(
        frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params})
        + frame({"jsonrpc": "2.0", "id": request_id, "result": 1})
    )
    assert await wait_bounded(future) == 1


async def test_the_rest_of_a_batch_is_skipped_after_the_connection_is_closed() -> None:
    wire, seen = Wire(), []
    peer = Peer(
        wire.write,
        on_notification=lambda method, params: seen.append(method),
        on_malformed=lambda reason: peer.close(reason),
    )
    peer.feed(frame([{"jsonrpc": "2.0", "method": "first"}, {"id": 1}, {"jsonrpc": "2.0", "method": "late"}]))
    assert seen == ["first"]


@pytest.mark.parametrize("outcome", ["a result", "an error", "a defect", "a cancel"])
async def test_a_handler_that_outlives_the_connection_writes_nothing(outcome: str) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(method: str, params: Any) -> Any:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            match outcome:
                case "a cancel":
                    raise
                case "an error":
                    raise RpcError(1, "No.") from None
                case "a defect":
                    raise ZeroDivisionError from None
            return 5
        finally:
            ended.set()

    wire = Wire()
    peer = Peer(wire.write, on_request=stubborn)
    peer.feed(frame({"jsonrpc": "2.0", "id": 1, "method": "m"}))
    await wait_bounded(began.wait())
    peer.close("Gone.")
    await wait_bounded(ended.wait())
    for _ in range(3):
        await asyncio.sleep(0)

    assert wire.sent == []


async def test_a_cancel_after_the_end_writes_nothing() -> None:
    wire = Wire()
    peer = Peer(wire.write)
    request_id, _ = peer.start_request("a")
    peer.close("Gone.")
    peer.cancel(request_id)

    assert [message["method"] for message in wire.sent] == ["a"]
