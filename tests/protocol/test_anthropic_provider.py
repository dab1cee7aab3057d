"""A provider of the kind `anthropic` through the real daemon: streams, tool rounds, cancels, replans."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.anthropic_messages import (
    Call,
    Redacted,
    Thought,
    Words,
    block_events,
    error_body,
    event,
    message,
    message_stream,
)
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, user

MODEL = "claude-haiku-4-5"
SIGNATURE = "EqQBCgIYAhIM+/=="
TOOLS = [{"name": "f", "description": "Does.", "parameters": {"type": "object"}}]


@pytest.fixture
async def claude(daemon: Daemon, upstream: FakeUpstream) -> Daemon:
    """A daemon whose only provider, `fake`, is the upstream with the Messages API."""
    table = {"kind": "anthropic", "base_url": upstream.origin, "api_key": "literal", "default_model": MODEL}
    await daemon.initialize({"providers": {"fake": table}})
    return daemon


async def ask(daemon: Daemon, *messages: Any, **more: Any) -> Any:
    return await daemon.request("chat/start", {"messages": messages or [user("hi")], **more})


@pytest.mark.requirement("messages:stream", "2:thinking", "2:usage")
async def test_an_answer_streams_with_thinking_and_usage(claude: Daemon, upstream: FakeUpstream) -> None:
    usage = {"output_tokens": 9, "cache_read_input_tokens": 100}
    parts = (Thought(["Let ", "me"], SIGNATURE), Words(["Hel", "lo"]))
    upstream.script(Reply.events(message_stream(*parts, usage=usage), request_id="req_1"))
    exchange = await ask(claude, thinking="low")
    result = exchange.result
    assert result["text"] == "Hello"
    assert [block["type"] for block in result["content"]] == ["thinking", "text"]
    assert result["content"][0]["signature"] == SIGNATURE
    assert (result["model"], result["stopReason"]) == ("claude-fake", "end_turn")
    assert result["usage"]["inputTokens"] == 110
    assert (result["usage"]["outputTokens"], result["usage"]["cacheReadTokens"]) == (9, 100)
    (begun,) = [delta for delta in exchange.deltas if delta["type"] == "response"]
    assert (begun["id"], begun["providerRequestId"]) == ("msg_fake", "req_1")
    assert exchange.delta_types[0] == "start"
    assert exchange.delta_types[-1] == "done"
    sent = upstream.requests[0]
    assert (sent.path, sent.headers["x-api-key"]) == ("/v1/messages", "literal")
    assert sent.json["thinking"]["type"] == "enabled"


@pytest.mark.requirement("messages:replay-in-place", "messages:replay-other", "2:tools")
async def test_a_tool_round_sends_signed_thinking_back_byte_for_byte(
    claude: Daemon, upstream: FakeUpstream
) -> None:
    server = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"q": "é"}}
    thinking = " Schön,\n\u2028 let me… "
    events = [
        event("message_start", message=message()),
        *block_events(0, Thought([thinking[:4], thinking[4:]], SIGNATURE)),
        *block_events(1, Redacted("cipher+/=")),
        event("content_block_start", index=2, content_block=server),
        event("content_block_stop", index=2),
        *block_events(3, Call("toolu_1", "f", ['{"b": 1,', ' "a": "é"}'])),
        event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 5}),
        event("message_stop"),
    ]
    upstream.script(Reply.events(events).slice(3), Reply.events(message_stream(Words(["done"]))))
    first = (await ask(claude, tools=TOOLS, thinking="low")).result
    assert first["stopReason"] == "tool_use"
    assert first["toolCalls"][0]["raw"] == '{"b": 1, "a": "é"}'
    assistant = {"role": "assistant", "content": first["content"]}
    results = {"role": "user", "content": [
        {"type": "text", "text": "there"}, {"type": "tool_result", "toolUseId": "toolu_1", "content": "ok"}
    ]}  # fmt: skip
    second = await ask(claude, user("hi"), assistant, results, tools=TOOLS, thinking="low")
    assert second.result["text"] == "done"
    assert [delta for delta in second.deltas if delta["type"] == "warning"] == []
    sent = upstream.requests[1].json
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": thinking, "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": "cipher+/="},
        server,
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"b": 1, "a": "é"}},
    ]
    assert [part["type"] for part in sent["messages"][2]["content"]] == ["tool_result", "text"]
    assert sent["thinking"]["type"] == "enabled"


@pytest.mark.requirement("2:cancel-request", "2:partial-replayable")
async def test_a_cancel_closes_the_connection_and_keeps_blocks_that_can_be_sent_back(
    claude: Daemon, upstream: FakeUpstream
) -> None:
    parts = (Thought(["Hm"], SIGNATURE), Words(["Hel", "lo"]))
    events = message_stream(*parts)
    # Send two events before the blocks, all four events of the thinking, and the text up to `Hel`.
    upstream.script(Reply.events(events[: 2 + 4 + 2]).stall_after())
    request_id = claude.start("chat/start", {"messages": [user("hi")]})
    await claude.read_delta("text_delta")
    claude.notify("$/cancelRequest", {"id": request_id})
    exchange = await claude.read_until(request_id)
    await upstream.wait_for_disconnect()
    assert exchange.error["code"] == -32800
    partial = exchange.error["data"]["partial"]
    assert [block["type"] for block in partial["content"]] == ["thinking", "text"]
    assert partial["text"] == "Hel"


@pytest.mark.requirement("messages:replay-refused", "messages:refused-parameter")
async def test_refused_thinking_and_parameters_are_left_out_with_warnings(
    claude: Daemon, upstream: FakeUpstream
) -> None:
    refusals = [
        error_body("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block"),
        error_body("invalid_request_error", "temperature: Extra inputs are not permitted"),
    ]
    upstream.script(*(Reply.json(each, 400) for each in refusals))
    upstream.script(Reply.events(message_stream(Words(["ok"]))))
    origin = {"provider": "fake", "model": MODEL}
    turn = [
        {"type": "thinking", "thinking": "Hm", "signature": "stale", "origin": origin},
        {"type": "text", "text": "a", "origin": origin},
    ]
    exchange = await ask(
        claude, user("q"), {"role": "assistant", "content": turn}, user("r"), settings={"temperature": 0.5}
    )
    assert exchange.result["text"] == "ok"
    codes = {delta["code"] for delta in exchange.deltas if delta["type"] == "warning"}
    assert codes == {"foreign_data_dropped", "parameter_dropped"}
    assert [part["type"] for part in upstream.requests[2].json["messages"][1]["content"]] == ["text"]
    assert "temperature" not in upstream.requests[2].json
    assert len(upstream.requests) == 3


@pytest.mark.requirement("messages:spliced-start", "2:same-content")
async def test_an_answer_that_starts_again_replaces_its_first_part(
    claude: Daemon, upstream: FakeUpstream
) -> None:
    first = [event("message_start", message=message()), *block_events(0, Words(["gone"]))]
    rest = message_stream(Thought(["Hm"], SIGNATURE), Words(["kept"]))
    upstream.script(Reply.events([*first, *rest]))
    exchange = await ask(claude)
    assert exchange.result["text"] == "kept"
    assert [block["type"] for block in exchange.result["content"]] == ["thinking", "text"]
    kinds = exchange.delta_types
    restart = len(kinds) - 1 - kinds[::-1].index("response")
    done = [d["content"] for d in exchange.deltas[restart:] if d["type"].endswith("_done")]
    assert done == exchange.result["content"]


@pytest.mark.requirement("messages:in-stream-error", "2:error-in-mid-stream")
async def test_an_overload_in_mid_stream_keeps_the_partial(claude: Daemon, upstream: FakeUpstream) -> None:
    events = message_stream(Words(["Hel"]))[:4]
    upstream.script(Reply.events([*events, ("error", error_body("overloaded_error", "Overloaded"))]))
    error = (await ask(claude)).error
    assert (error["code"], error["data"]["providerCode"]) == (1007, "overloaded_error")
    assert error["data"]["partial"]["text"] == "Hel"


@pytest.mark.requirement("messages:models", "3:model-info")
async def test_the_models_are_listed_with_their_limits(claude: Daemon, upstream: FakeUpstream) -> None:
    row = {
        "type": "model",
        "id": MODEL,
        "display_name": "Haiku",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
    }
    upstream.script(Reply.json({"data": [row], "has_more": False}), path="/v1/models")
    (model,) = (await claude.request("models/list", {"provider": "fake"})).result["models"]
    assert (model["name"], model["maxContextTokens"], model["maxOutputTokens"]) == ("Haiku", 200_000, 64_000)
    assert model["isDefault"] is True
