"""A request that an endpoint refuses because of one feature is sent again without it, with a warning."""

from __future__ import annotations

import re

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, user

ANSWER = Reply.events(completion_stream(["Hello"]))


def refusal(message: str, **more: str) -> Reply:
    return Reply.json({"error": {"message": message, "type": "invalid_request_error", **more}}, 400)


@pytest.mark.requirement("chat:refused-parameter", "chat:max-tokens-refused")
async def test_a_parameter_that_an_endpoint_refuses_is_left_out_from_then_on(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(
        refusal("Unsupported parameter", param="max_tokens", code="unsupported_parameter"),
        refusal("Unsupported value", param="temperature", code="unsupported_value"),
        ANSWER,
        ANSWER,
    )
    asked = {"messages": [user("Hi")], "settings": {"temperature": 0.5}}
    first = await chatty.request("chat/start", asked)
    second = await chatty.request("chat/start", asked)

    for exchange in (first, second):
        assert exchange.result["text"] == "Hello"
        warnings = [delta for delta in exchange.deltas if delta["type"] == "warning"]
        assert [warning["code"] for warning in warnings] == ["parameter_dropped"]
        assert "'temperature'" in warnings[0]["message"]
        assert "retry" not in exchange.delta_types
    bodies = [request.json for request in upstream.requests]
    assert ["max_tokens" in body for body in bodies] == [True, False, False, False]
    assert ["temperature" in body for body in bodies] == [True, True, False, False]


@pytest.mark.requirement("chat:refused-parameter")
async def test_an_endpoint_that_refuses_every_attempt_ends_the_turn(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(refusal("Unsupported parameter: 'max_tokens'", param="max_tokens"))
    exchange = await chatty.request("chat/start", {"messages": [user("Hi")]})

    assert exchange.error["code"] == 1004
    assert exchange.delta_types == ["start", "done"]
    assert len(upstream.requests) == 2


@pytest.mark.requirement("chat:nine-character-ids")
async def test_a_server_that_wants_nine_character_ids_gets_them(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    words = "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."
    upstream.script(Reply.json({"object": "error", "message": words, "code": "3280"}, 400), ANSWER)
    call = {"type": "tool_use", "id": "call_1", "name": "f", "arguments": {}, "raw": "{}"}
    messages = [
        user("Go"),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "toolUseId": "call_1", "content": "x"}]},
    ]
    exchange = await chatty.request("chat/start", {"messages": messages})

    assert exchange.result["text"] == "Hello"
    _, assistant, result = upstream.requests[1].json["messages"]
    assert re.fullmatch("[a-zA-Z0-9]{9}", result["tool_call_id"])
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"]


@pytest.mark.requirement("chat:sampling-while-reasoning")
async def test_a_parameter_that_reasoning_models_refuse_is_never_sent_to_them(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(ANSWER)
    await daemon.initialize(provider(upstream.base_url))
    asked = {"messages": [user("Hi")], "model": "fake:o3-mini", "settings": {"temperature": 0.5}}
    exchange = await daemon.request("chat/start", asked)

    assert exchange.result["text"] == "Hello"
    assert exchange.delta_types[:2] == ["start", "warning"]
    assert "temperature" not in upstream.requests[0].json
