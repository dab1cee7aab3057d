"""`chat/countTokens`, and the check of a prompt's length before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import Daemon, provider, user

COUNT = "/v1/messages/count_tokens"
LONG = "x" * 40_000
"""About ten thousand tokens."""


@pytest.fixture
async def claude(daemon: Daemon, upstream: FakeUpstream) -> Daemon:
    """A daemon whose only provider counts tokens."""
    table = {
        "kind": "anthropic",
        "base_url": upstream.origin,
        "default_model": "claude-x",
        "models": [{"id": "claude-x", "max_prompt_tokens": 1000}],
    }
    await daemon.initialize({"providers": {"fake": table}})
    return daemon


async def count(daemon: Daemon, *messages: Any, **more: Any) -> Any:
    return await daemon.request("chat/countTokens", {"messages": messages or [user("hi")], **more})


@pytest.mark.requirement("5:count-tokens")
async def test_the_provider_counts_the_request_of_a_chat(claude: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.json({"input_tokens": 17}), path=COUNT)
    tool = {"name": "f", "description": "Does.", "parameters": {"type": "object"}}
    foreign = {"type": "thinking", "thinking": "Hm.", "origin": {"provider": "other", "model": "n"}}
    answer = {"role": "assistant", "content": [foreign, {"type": "text", "text": "Yes."}]}
    exchange = await count(claude, user("hi"), answer, user("so?"), system="Be brief.", tools=[tool])
    assert exchange.result == {"tokens": 17, "method": "provider"}
    assert exchange.notifications == []
    sent = upstream.requests[0].json
    assert {"model", "messages", "system", "tools"} <= set(sent)
    assert not {"max_tokens", "stream"} & set(sent)
    assert "Hm." not in str(sent)


@pytest.mark.requirement("5:estimate-tokens")
@pytest.mark.parametrize(
    ("estimates", "result"),
    [(None, {"tokens": 8, "method": "estimate"}), (False, {"tokens": -1, "method": "unsupported"})],
)
async def test_tokens_are_estimated_if_the_provider_cannot_count_and_the_client_agrees(
    chatty: Daemon, upstream: FakeUpstream, estimates: bool | None, result: dict[str, Any]
) -> None:
    assert (await count(chatty, allowEstimate=estimates)).result == result
    assert upstream.requests == []


@pytest.mark.requirement("5:estimate-tokens")
async def test_tokens_are_estimated_if_the_count_fails_but_not_if_the_key_is_wrong(
    claude: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.raw(b"", 404), Reply.raw(b"", 503), path=COUNT)
    for _ in range(2):
        assert (await count(claude)).result["method"] == "estimate"
    upstream.script(Reply.raw(b"", 503), Reply.raw(b"", 401), path=COUNT)
    assert (await count(claude, allowEstimate=False)).error["code"] == 1007
    assert (await count(claude)).error["code"] == 1000


@pytest.mark.requirement("5:count-tokens")
async def test_openai_responses_have_a_count_endpoint_of_their_own(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.json({"input_tokens": 23}), path="/v1/responses/input_tokens")
    table = {"kind": "openai-responses", "base_url": upstream.base_url, "default_model": "m"}
    await daemon.initialize({"providers": {"fake": table}})
    assert (await count(daemon, system="Be brief.")).result == {"tokens": 23, "method": "provider"}
    assert set(upstream.requests[0].json) <= {"model", "input", "instructions", "text", "reasoning"}


@pytest.mark.requirement("5:count-tokens", "6:request")
async def test_params_are_checked_as_for_a_chat(chatty: Daemon) -> None:
    assert (await count(chatty, settings={"heat": 1})).error["code"] == -32602
    assert (await chatty.request("chat/countTokens", {"messages": []})).error["code"] == -32602
    assert (await count(chatty, allowEstimate="yes")).error["data"]["errors"][0]["path"] == "allowEstimate"


@pytest.mark.requirement("5:count-tokens")
async def test_a_count_can_be_cancelled(claude: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply(held=Gate()), path=COUNT)  # The gate is never opened.
    asked = claude.start("chat/countTokens", {"messages": [user("hi")]})
    await upstream.wait_for_request(1)
    claude.notify("$/cancelRequest", {"id": asked})
    assert (await claude.read_until(asked)).error["code"] == -32800
    await upstream.wait_for_disconnect(1)


@pytest.mark.requirement("5:estimate-tokens")
async def test_the_next_turn_is_estimated_from_the_reported_usage_of_the_last_one(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    usage = {"prompt_tokens": 5000, "completion_tokens": 70, "total_tokens": 5070}
    upstream.script(Reply.events(completion_stream(["Hello."], usage=usage)))
    answer = (await chatty.request("chat/start", {"messages": [user("hi")]})).result
    conversation = [user("hi"), {"role": "assistant", "content": answer["content"]}, user("x" * 400)]
    # The new message has 400 bytes, which count as 100 tokens, and 4 tokens of framing.
    assert (await count(chatty, *conversation)).result == {"tokens": 5000 + 70 + 104, "method": "estimate"}


@pytest.mark.requirement("6:context-exceeded", "6:too-long-before-sending")
async def test_a_prompt_of_more_than_twice_the_limit_is_refused_without_a_request(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    models = [{"id": "m", "max_prompt_tokens": 4000}]
    await daemon.initialize(provider(upstream.base_url, models=models))
    exchange = await daemon.request("chat/start", {"messages": [user(LONG)]})
    assert (exchange.error["code"], exchange.error["data"]["kind"]) == (1005, "context_exceeded")
    assert "4000" in exchange.error["message"]
    assert exchange.error["data"]["hint"]
    assert exchange.notifications == []
    assert upstream.requests == []


@pytest.mark.requirement("6:context-exceeded", "6:too-long-before-sending")
async def test_a_prompt_of_up_to_twice_the_listed_limit_causes_a_warning(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.json({"data": [{"id": "m", "context_length": 6000}]}), path="/v1/models")
    upstream.default(Reply.events(completion_stream(["Hi"])), path="/v1/chat/completions")
    # Use another text, because the daemon remembers the usage of a prompt that it has sent.
    before = await chatty.request("chat/start", {"messages": [user(LONG.upper())]})
    assert "warning" not in before.delta_types, "a warning was sent before a limit was known"
    await chatty.request("models/list")
    exchange = await chatty.request("chat/start", {"messages": [user(LONG)]})
    assert exchange.result["text"] == "Hi"
    (warning,) = [delta for delta in exchange.deltas if delta["type"] == "warning"]
    assert warning["code"] == "prompt_may_be_too_long"
    assert exchange.delta_types[:2] == ["start", "warning"]


@pytest.mark.requirement("6:too-long-before-sending", "5:count-tokens")
async def test_a_prompt_that_was_counted_as_too_long_is_refused_without_a_request(
    claude: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.json({"input_tokens": 1001}), path=COUNT)
    messages = [user("x" * 2000)]
    assert (await count(claude, *messages)).result["tokens"] == 1001
    exchange = await claude.request("chat/start", {"messages": messages})
    assert exchange.error["code"] == 1005
    assert "1001" in exchange.error["message"]
    assert len(upstream.requests) == 1
