"""A provider with OpenAI's Responses API, as a client of the real daemon sees it."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.responses import function_call, message, reasoning, response_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, user

ENCRYPTED = "gAAAAAB+/=\\u00e9=="
CALL = function_call("call_1", "weather", '{ "city":', ' "Rome"}')
THOUGHT = reasoning("Hm.", "Yes.", encrypted=ENCRYPTED)


@pytest.fixture
async def responding(daemon: Daemon, upstream: FakeUpstream) -> Daemon:
    """Initialize a daemon whose only provider has the Responses API."""
    await daemon.initialize(provider(upstream.base_url, kind="openai-responses"))
    return daemon


async def run_tool_round(daemon: Daemon, upstream: FakeUpstream) -> list[dict[str, Any]]:
    """Run a chat that calls a tool; return the messages up to the result of the tool."""
    commentary = message("Let me see.", phase="commentary")
    upstream.script(Reply.events(response_stream(THOUGHT, commentary, CALL)))
    first = await daemon.request("chat/start", {"messages": [user("Weather?")]})
    assert first.result["stopReason"] == "tool_use"
    result = {"type": "tool_result", "toolUseId": "call_1", "content": "Sunny"}
    return [
        user("Weather?"),
        {"role": "assistant", "content": first.result["content"]},
        {"role": "user", "content": [result]},
    ]


@pytest.mark.requirement("responses:text", "responses:summary")
async def test_an_answer_streams(responding: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.events(response_stream(THOUGHT, message("Hel", "lo"))))
    exchange = await responding.request("chat/start", {"messages": [user("Hi")], "thinking": "low"})
    assert (exchange.result["text"], exchange.result["stopReason"]) == ("Hello", "end_turn")
    assert exchange.result["rawStopReason"] == "completed"
    assert exchange.result["usage"]["cacheReadTokens"] == 4
    assert exchange.delta_types[:4] == ["start", "response", "thinking_start", "thinking_delta"]
    assert exchange.result["content"][0]["thinking"] == "Hm.\n\nYes."
    assert "".join(each["text"] for each in exchange.deltas if each["type"] == "text_delta") == "Hello"
    sent = upstream.requests[0].json
    assert (upstream.requests[0].path, sent["store"]) == ("/v1/responses", False)
    assert sent["reasoning"] == {"effort": "low", "summary": "auto"}


@pytest.mark.requirement("responses:reasoning-items", "responses:phase", "responses:calls")
async def test_a_tool_round_sends_the_encrypted_reasoning_back_byte_for_byte(
    responding: Daemon, upstream: FakeUpstream
) -> None:
    messages = await run_tool_round(responding, upstream)
    upstream.script(Reply.events(response_stream(message("It is sunny.", phase="final_answer"))))
    exchange = await responding.request("chat/start", {"messages": messages})
    assert exchange.result["text"] == "It is sunny."
    assert "warning" not in exchange.delta_types
    question, thought, commentary, call, result = upstream.requests[1].json["input"]
    assert question == {"role": "user", "content": "Weather?"}
    assert thought == THOUGHT
    assert (commentary["phase"], commentary["content"][0]["text"]) == ("commentary", "Let me see.")
    arguments = '{ "city": "Rome"}'
    assert call == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "weather",
        "arguments": arguments,
    }
    assert result == {"type": "function_call_output", "call_id": "call_1", "output": "Sunny"}


@pytest.mark.requirement("responses:unfollowed-reasoning")
async def test_trailing_reasoning_is_sent_back_and_its_refusal_causes_a_warning(
    responding: Daemon, upstream: FakeUpstream
) -> None:
    last = reasoning(encrypted=ENCRYPTED, item_id="rs_9") | {"format": "google-gemini-v1"}
    upstream.script(Reply.events(response_stream(message("OK"), last)))
    first = await responding.request("chat/start", {"messages": [{"role": "user", "content": "Hi"}]})
    answered = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": first.result["content"]},
        {"role": "user", "content": "Go on"},
    ]
    words = "Item 'rs_9' of type 'reasoning' was provided without its required following item."
    upstream.script(Reply.json({"error": {"message": words}}, 400))
    upstream.script(Reply.events(response_stream(message("Yes"))))
    second = await responding.request("chat/start", {"messages": answered})
    assert upstream.requests[1].json["input"][2] == last
    assert [item.get("type") for item in upstream.requests[2].json["input"]] == [None, "message", None]
    assert [each["code"] for each in second.result["warnings"]] == ["unfinished_dropped"]


@pytest.mark.requirement("responses:foreign-encrypted")
async def test_foreign_encrypted_content_is_left_out_after_its_refusal(
    responding: Daemon, upstream: FakeUpstream
) -> None:
    messages = await run_tool_round(responding, upstream)
    refused = {
        "error": {
            "message": "The encrypted content gAAA could not be verified.",
            "type": "invalid_request_error",
            "code": "invalid_encrypted_content",
        }
    }
    upstream.script(Reply.json(refused, 400), Reply.events(response_stream(message("It is sunny."))))
    exchange = await responding.request("chat/start", {"messages": messages})
    assert exchange.result["text"] == "It is sunny."
    codes = [delta["code"] for delta in exchange.deltas if delta["type"] == "warning"]
    assert codes == ["foreign_data_dropped"]
    assert "retry" not in exchange.delta_types
    kinds = [[item.get("type", "message") for item in sent.json["input"]] for sent in upstream.requests[1:]]
    with_reasoning = ["message", "reasoning", "message", "function_call", "function_call_output"]
    assert kinds == [with_reasoning, [kind for kind in with_reasoning if kind != "reasoning"]]

    # The encrypted content is no longer sent, so another refusal is an error.
    upstream.script(Reply.json(refused, 400))
    failed = await responding.request("chat/start", {"messages": messages})
    assert (failed.error["code"], failed.error["data"]["statusCode"]) == (1004, 400)
    assert len(upstream.requests) == 4


async def test_a_cancel_closes_the_connection_and_keeps_the_partial(
    responding: Daemon, upstream: FakeUpstream
) -> None:
    # Omit the events that follow the last piece of text.
    upstream.script(Reply.events(response_stream(THOUGHT, message("Hel", "lo"))[:-4]).stall_after())
    chat = responding.start("chat/start", {"messages": [user("Hi")]})
    await responding.read_delta("text_delta")
    responding.notify("$/cancelRequest", {"id": chat})
    exchange = await responding.read_until(chat)
    await upstream.wait_for_disconnect()
    assert exchange.error["code"] == -32800
    thought, text = exchange.error["data"]["partial"]["content"]
    assert thought["signature"] == ENCRYPTED
    assert "Hello".startswith(text["text"])


@pytest.mark.requirement("responses:no-terminal")
async def test_an_answer_that_ends_early_is_a_protocol_error_with_the_partial(
    responding: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(response_stream(message("Hello"), end=None)))
    exchange = await responding.request("chat/start", {"messages": [user("Hi")]})
    assert (exchange.error["code"], exchange.error["data"]["kind"]) == (1009, "protocol")
    assert exchange.error["data"]["partial"]["text"] == "Hello"


@pytest.mark.requirement("responses:garbage")
async def test_an_unreadable_event_causes_a_warning(responding: Daemon, upstream: FakeUpstream) -> None:
    events = response_stream(message("Hello"))
    upstream.script(Reply.events([*events[:2], "{not json", *events[2:]]))
    exchange = await responding.request("chat/start", {"messages": [user("Hi")]})
    assert exchange.result["text"] == "Hello"
    assert [each["code"] for each in exchange.deltas if each["type"] == "warning"] == ["unreadable_event"]
