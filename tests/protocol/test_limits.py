"""Limits for size and depth, and the refusals of messages that exceed them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jumpseat.testing.answers.anthropic_messages import Words, message_stream
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.answers.ollama_chat import last, lines, part
from jumpseat.testing.answers.responses import message, response_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import WAIT_SECONDS, Daemon, provider, user
from tests.fakes.ollama import FakeOllama

DEPTH = 500
ANSWERS = {
    "openai": Reply.events(completion_stream(["Fine."])),
    "openai-responses": Reply.events(response_stream(message("Fine."))),
    "anthropic": Reply.events(message_stream(Words(["Fine."]))),
    "ollama": lines(part("Fine."), last()),
}


def schema(depth: int) -> dict[str, Any]:
    """Return a JSON Schema with this depth of nested objects."""
    found: dict[str, Any] = {"type": "string"}
    for _ in range(depth - 1):
        found = {"x": found}
    return found


def depth_of(value: Any) -> int:
    """Return the nesting depth of a value. Recursion would exceed Python's limit."""
    depth, level = 0, [value]
    while level:
        inner = [list(each.values()) if isinstance(each, dict) else each for each in level]
        level = [item for each in inner if isinstance(each, list) for item in each]
        depth += 1
    return depth - 1


@pytest.mark.requirement("1:limits")
@pytest.mark.parametrize("kind", ANSWERS)
async def test_a_schema_and_arguments_of_500_levels_reach_the_provider(
    daemon: Daemon, upstream: FakeUpstream, kind: str
) -> None:
    more: dict[str, Any] = {"kind": kind, "api_key": "literal"}
    base_url = upstream.base_url
    if kind == "ollama":
        base_url, more = FakeOllama(upstream).base_url, {"kind": kind, "default_model": "qwen3:4b"}
    await daemon.initialize(provider(base_url, **more))
    if kind != "ollama":
        # Other paths, such as the one that counts tokens, get this answer too.
        upstream.default(ANSWERS[kind])
    deep = schema(DEPTH)
    call = {"type": "tool_use", "id": "1", "name": "f", "arguments": {"a": deep}}
    chat = {
        "messages": [
            user("hi"),
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "content": "x"}]},
        ],
        "tools": [{"name": "f", "parameters": deep}],
    }
    for params in (chat, {**chat, "tools": None, "outputMode": {"schema": deep}}):
        counted = await daemon.request("chat/countTokens", params)
        assert counted.result["tokens"] > DEPTH
        # The daemon compares the second chat with the blocks that it remembers from the first one.
        for _ in range(2):
            upstream.script(ANSWERS[kind], path="/api/chat" if kind == "ollama" else None)
            assert (await daemon.request("chat/start", params)).result["text"] == "Fine."
        sent = upstream.requests[-1].json
        assert depth_of(sent) > DEPTH, sent.keys()
    rendered = await daemon.request("transcript/render", {"messages": chat["messages"]})
    assert '{"x":' * (DEPTH - 1) in rendered.result["text"]


@pytest.mark.requirement("1:limits")
async def test_a_message_that_exceeds_a_limit_is_refused_with_its_own_id(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Fine."])))
    nested = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    hi = b'"messages":[{"role":"user","content":"hi"}]'
    # The last params have an integer with too many digits.
    for params in (
        b'{%b,"tools":[{"name":"f","parameters":%b}]}' % (hi, nested),
        b'{%b,"settings":%b}' % (hi, nested),
        b'{%b,"x":%b}' % (hi, b"9" * 5000),
    ):
        body = b'{"jsonrpc":"2.0","id":"deep","method":"chat/start","params":%b}' % params
        chatty.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        answer = await chatty.read()
        assert (answer["id"], answer["error"]["code"]) == ("deep", -32600)
        assert answer["error"]["data"]["kind"] == "invalid_request"
    # This message is within the limit of 600 levels, but its settings are not valid.
    error = (await chatty.request("chat/start", {"messages": [user("x")], "settings": schema(590)})).error
    assert error["code"] == -32602
    assert (await chatty.request("chat/start", {"messages": [user("hi")]})).result["text"] == "Fine."


@pytest.mark.requirement("1:batch", "1:limits")
async def test_a_batch_of_a_million_bad_messages_does_not_delay_others(chatty: Daemon) -> None:
    body = b"[" + b"1," * 999_999 + b"1]"
    chatty.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    chatty.send({"jsonrpc": "2.0", "id": 1, "method": "settings/get"})
    async with asyncio.timeout(WAIT_SECONDS):
        refused, answer = await chatty.read(), await chatty.read()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert "420000 values" in refused["error"]["message"]
    assert answer["id"] == 1
