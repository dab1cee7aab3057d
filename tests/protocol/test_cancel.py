"""Cancels at every stage of a chat."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, user

CHAT: dict[str, Any] = {"messages": [user("hi")], "turnId": "t1"}

# The daemon is shared by the tests of this module.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def chatty(pair: tuple[Daemon, FakeUpstream]) -> Daemon:
    return pair[0]


@pytest.fixture
def upstream(pair: tuple[Daemon, FakeUpstream]) -> FakeUpstream:
    return pair[1]


async def start_streaming(daemon: Daemon, upstream: FakeUpstream) -> int:
    """Start a chat whose answer stops after `Hel`; return the request's id when `Hel` has arrived."""
    upstream.script(Reply.events(completion_stream(["Hel"])[:2]).stall_after())
    request_id = daemon.start("chat/start", CHAT)
    await daemon.read_delta("text_delta")
    return request_id


@pytest.mark.requirement("2:cancel-request", "2:partial-replayable")
async def test_a_cancel_by_request_id_ends_the_upstream_request_and_keeps_the_partial(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    request_id = await start_streaming(chatty, upstream)
    chatty.notify("$/cancelRequest", {"id": request_id})
    exchange = await chatty.read_until(request_id)
    await upstream.wait_for_disconnect()
    done = exchange.deltas[-1]
    assert (done["type"], done["stopReason"]) == ("done", "cancelled")
    assert done["error"]["code"] == -32800
    assert exchange.error["code"] == -32800
    assert exchange.error["data"]["kind"] == "cancelled"
    partial = exchange.error["data"]["partial"]
    assert partial["content"] == done["content"]
    origin = {"provider": "fake", "model": "m"}
    assert partial["content"] == [{"type": "text", "text": "Hel", "origin": origin}]
    assert partial["text"] == "Hel"
    assert partial["turnId"] == "t1"
    assert "stopReason" not in partial


@pytest.mark.requirement("2:chat-cancel")
async def test_a_cancel_by_turn_id_reports_whether_it_cancelled(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    request_id = await start_streaming(chatty, upstream)
    cancel = chatty.start("chat/cancel", {"turnId": "t1"})
    answers: dict[int, Any] = {}
    while len(answers) < 2:
        message = await chatty.read()
        if "id" in message:
            answers[message["id"]] = message
    assert answers[cancel]["result"] == {"cancelled": True}
    assert answers[request_id]["error"]["code"] == -32800
    await upstream.wait_for_disconnect()
    assert (await chatty.request("chat/cancel", {"turnId": "t1"})).result == {"cancelled": False}


@pytest.mark.requirement("2:cancel-unknown")
async def test_a_cancel_of_something_unknown_or_finished_is_ignored(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["Hi"])))
    exchange = await chatty.request("chat/start", CHAT)
    chatty.notify("$/cancelRequest", {"id": exchange.response["id"]})
    chatty.notify("$/cancelRequest", {"id": "never"})
    assert (await chatty.request("chat/cancel", {"turnId": "never"})).result == {"cancelled": False}


@pytest.mark.requirement("2:cancel-before-start")
@pytest.mark.parametrize("by_turn", [False, True])
async def test_a_cancel_in_the_same_write_prevents_all_deltas(
    chatty: Daemon, upstream: FakeUpstream, by_turn: bool
) -> None:
    start = {"jsonrpc": "2.0", "id": 1, "method": "chat/start", "params": CHAT}
    cancel: dict[str, Any] = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}
    if by_turn:
        cancel = {"jsonrpc": "2.0", "id": 2, "method": "chat/cancel", "params": {"turnId": "t1"}}
    chatty.send(start, cancel)
    answers = {}
    for _ in range(2 if by_turn else 1):
        message = await chatty.read()
        answers[message["id"]] = message
    assert answers[1]["error"]["code"] == -32800
    assert answers[1]["error"]["data"]["kind"] == "cancelled"
    if by_turn:
        assert answers[2]["result"] == {"cancelled": True}
    assert upstream.requests == []


async def test_a_cancel_before_the_providers_first_byte_ends_the_chat(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply(headers={"content-type": "text/event-stream"}, chunked=True).stall_after())
    request_id = chatty.start("chat/start", CHAT)
    await upstream.wait_for_request()
    chatty.notify("$/cancelRequest", {"id": request_id})
    exchange = await chatty.read_until(request_id)
    assert exchange.error["data"]["partial"]["content"] == []
    assert exchange.delta_types[-1] == "done"
    await upstream.wait_for_disconnect()


async def test_a_cancel_during_the_wait_for_a_retry_ends_the_chat(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.json({"error": {"message": "busy"}}, 429, retry_after="50"))
    request_id = chatty.start("chat/start", CHAT)
    assert (await chatty.read_delta("retry"))["delta"]["delayMs"] == 50_000
    chatty.notify("$/cancelRequest", {"id": request_id})
    assert (await chatty.read_until(request_id)).error["code"] == -32800
    assert len(upstream.requests) == 1


@pytest.mark.requirement("2:cancel-request")
async def test_a_second_cancel_has_no_effect(chatty: Daemon, upstream: FakeUpstream) -> None:
    request_id = await start_streaming(chatty, upstream)
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request_id}}
    chatty.send(cancel, cancel, cancel)
    exchange = await chatty.read_until(request_id)
    assert exchange.error["data"]["partial"]["text"] == "Hel"
    assert exchange.delta_types.count("done") == 1
    assert (await chatty.request("providers/list")).notifications == []


@pytest.mark.requirement("2:partial-replayable")
async def test_an_unfinished_tool_call_and_unsigned_thinking_are_not_in_the_partial(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    events = completion_stream(["Text"], reasoning=["Hm"], tool_calls=[FakeCall("c1", "f", ['{"a"', ":1}"])])
    # The answer stops within the arguments of the call.
    upstream.script(Reply.events(events[:5]).stall_after())
    request_id = chatty.start("chat/start", CHAT)
    await chatty.read_delta("tool_use_delta")
    chatty.notify("$/cancelRequest", {"id": request_id})
    partial = (await chatty.read_until(request_id)).error["data"]["partial"]
    assert [block["type"] for block in partial["content"]] == ["text"]
    assert partial["toolCalls"] == []
    upstream.script(Reply.events(completion_stream(["ok"])))
    messages = [user("hi"), {"role": "assistant", "content": partial["content"]}, user("go on")]
    assert (await chatty.request("chat/start", {"messages": messages})).result["text"] == "ok"


async def test_a_turn_id_is_free_again_after_a_cancel(chatty: Daemon, upstream: FakeUpstream) -> None:
    request_id = await start_streaming(chatty, upstream)
    chatty.notify("$/cancelRequest", {"id": request_id})
    await chatty.read_until(request_id)
    upstream.script(Reply.events(completion_stream(["Hi"])))
    assert (await chatty.request("chat/start", CHAT)).result["text"] == "Hi"
