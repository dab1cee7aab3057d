"""The adapter of Anthropic's Messages API, against a scripted server."""

import asyncio

import pytest

from jumpseat.adapters.anthropic.adapter import AnthropicAdapter
from jumpseat.chat import (
    AuthenticationError,
    ContextExceededError,
    Message,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ResponseEvent,
    ServerError,
    TextDeltaEvent,
    ToolResultBlock,
    UnknownModelError,
)
from jumpseat.config import ProviderConfig
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.anthropic_messages import (
    Call,
    Redacted,
    Thought,
    Words,
    error_body,
    message_body,
    message_stream,
)
from jumpseat.testing.upstream import Reply
from tests.unit.adapters.anthropic_chats import MODEL, adapter_for, collect, refusal, request_for, response_of
from tests.unit.adapters.streams import WAIT, codes


@pytest.mark.requirement("messages:headers", "messages:request-id")
async def test_the_events_of_a_streamed_answer_obey_the_rules_of_events(upstream, http):
    upstream.script(Reply.events(message_stream(Words(["Hel", "lo"])), request_id="req_1"))
    events, error = await collect(adapter_for(upstream, http))
    assert error is None
    assert_laws(events)
    assert response_of(events).text == "Hello"
    started = next(event for event in events if isinstance(event, ResponseEvent))
    assert (started.model, started.provider_request_id) == ("claude-fake", "req_1")
    sent = upstream.requests[0]
    assert (sent.method, sent.path) == ("POST", "/v1/messages")
    assert sent.headers["x-api-key"] == "key-of-acme"
    assert "authorization" not in sent.headers
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.headers["user-agent"].startswith("jumpseat/")
    text = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    assert sent.json == {
        "model": MODEL,
        "max_tokens": 8192,
        "stream": True,
        "messages": [{"role": "user", "content": [text]}],
    }


@pytest.mark.requirement("messages:headers")
async def test_configured_headers_override_the_headers_of_the_adapter(upstream, http):
    upstream.script(Reply.events(message_stream(Words(["x"]))))
    headers = {"anthropic-beta": "a,b", "Authorization": "Bearer t", "Anthropic-Version": "2024-01-01"}
    await collect(adapter_for(upstream, http, headers=headers, base_url=f"{upstream.origin}/v1/"))
    sent = upstream.requests[0]
    assert sent.path == "/v1/messages"
    assert sent.headers["anthropic-beta"] == "a,b"
    assert sent.headers["authorization"] == "Bearer t"
    assert sent.headers["anthropic-version"] == "2024-01-01"


@pytest.mark.requirement("messages:version-2026-10-21")
async def test_sampling_parameters_are_not_sent_to_the_newer_version_of_the_api(upstream, http):
    upstream.script(Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http, headers={"anthropic-version": "2026-10-21"})
    events, _ = await collect(adapter, request_for(settings={"temperature": 1}))
    assert "temperature" not in upstream.requests[0].json
    assert codes(events) == ["parameter_dropped"]


def test_without_a_base_url_anthropic_itself_is_asked(http):
    adapter = AnthropicAdapter("acme", ProviderConfig(kind="anthropic"), http)
    assert adapter._base_url == "https://api.anthropic.com"


@pytest.mark.requirement("messages:whole-body")
async def test_an_unstreamed_answer_gives_the_same_response(upstream, http):
    parts = (Thought(["Hm"]), Redacted("d"), Words(["Look: "]), Call("t1", "f", ['{"a":1}']))
    upstream.script(Reply.events(message_stream(*parts)), Reply.json(message_body(*parts)))
    adapter = adapter_for(upstream, http)
    streamed, whole = [response_of((await collect(adapter, request_for(stream=s)))[0]) for s in (True, False)]
    assert streamed == whole
    assert streamed.stop_reason == "tool_use"
    assert "stream" not in upstream.requests[1].json


@pytest.mark.requirement("messages:error-529", "messages:error-body", "messages:request-id")
@pytest.mark.parametrize(
    ("status", "kind", "expected", "retryable"),
    [
        (401, "authentication_error", AuthenticationError, False),
        (402, "billing_error", QuotaExceededError, False),
        (409, "conflict_error", RequestError, False),
        (413, "request_too_large", RequestError, False),
        (429, "rate_limit_error", RateLimitError, True),
        (500, "api_error", ServerError, True),
        (504, "timeout_error", ServerError, True),
        (529, "overloaded_error", ServerError, True),
    ],
)
async def test_errors_follow_status_and_type(upstream, http, status, kind, expected, retryable):
    upstream.script(refusal("Because.", kind, status, request_id="req_7"))
    _, error = await collect(adapter_for(upstream, http))
    assert type(error) is expected
    assert (error.status_code, error.retryable, error.provider_code) == (status, retryable, kind)
    assert error.provider_request_id == "req_7"
    assert "Because." in error.message
    assert "key-of-acme" not in error.message


@pytest.mark.requirement("messages:retry-after")
async def test_the_delay_that_the_server_requests_is_in_the_error(upstream, http):
    limits = {
        "anthropic_ratelimit_requests_remaining": "4",
        "anthropic_ratelimit_requests_reset": "2026-01-01T00:00:00Z",
        "anthropic_ratelimit_input_tokens_remaining": "0",
        "anthropic_ratelimit_input_tokens_reset": "2026-01-01T00:05:00Z",
    }
    upstream.script(
        refusal("Slow", "rate_limit_error", 429, retry_after="7", **limits),
        refusal("No", "rate_limit_error", 429, x_should_retry="false"),
    )
    adapter = adapter_for(upstream, http)
    _, error = await collect(adapter)
    assert (error.retry_after, error.retryable) == (7, True)
    assert error.reset_at.isoformat() == "2026-01-01T00:05:00+00:00"
    _, error = await collect(adapter)
    assert (error.reset_at, error.retryable) == (None, False)


@pytest.mark.requirement("messages:spend-limit")
async def test_a_spend_limit_without_a_time_to_wait_is_a_used_up_quota(upstream, http):
    details = {"error_code": "enforced_spend_limit_reached"}
    body = error_body("rate_limit_error", "Blocked.", details=details)
    upstream.script(Reply.json(body, 429), Reply.json(body, 429, retry_after="3"))
    adapter = adapter_for(upstream, http)
    _, error = await collect(adapter)
    assert isinstance(error, QuotaExceededError)
    assert (error.provider_code, error.retryable) == ("enforced_spend_limit_reached", False)
    assert isinstance((await collect(adapter))[1], RateLimitError)


@pytest.mark.requirement("messages:context-exceeded")
async def test_a_prompt_that_is_too_long_is_a_context_error(upstream, http):
    upstream.script(refusal("prompt is too long: 3333404 tokens > 200000 maximum"))
    assert isinstance((await collect(adapter_for(upstream, http)))[1], ContextExceededError)


async def test_an_unknown_model_is_named(upstream, http):
    upstream.script(refusal(f"model: {MODEL}", "not_found_error", 404))
    _, error = await collect(adapter_for(upstream, http))
    assert type(error) is UnknownModelError
    assert error.message == f"The provider acme has no model {MODEL!r}."


async def test_an_unrelated_404_is_not_an_unknown_model(upstream, http):
    upstream.script(Reply.json({"detail": "Not Found"}, 404))
    _, error = await collect(adapter_for(upstream, http))
    assert error.message == "acme refused the request (HTTP 404): Not Found."


@pytest.mark.requirement("messages:early-end")
async def test_a_truncated_answer_is_a_protocol_error(upstream, http):
    reply = Reply.events(message_stream(Words(["Hello ", "world"])))
    upstream.script(reply.close_after(reply.body.index(b"world")))
    events, error = await collect(adapter_for(upstream, http))
    assert isinstance(error, ProtocolError)
    assert "".join(event.text for event in events if isinstance(event, TextDeltaEvent)) == "Hello "


async def test_closing_the_iterator_closes_the_upstream_connection(upstream, http):
    upstream.script(Reply.events(message_stream(Words(["a"]))[:4]).stall_after())
    events = adapter_for(upstream, http).stream(request_for())
    async with asyncio.timeout(WAIT):
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                break
        await events.aclose()
    await upstream.wait_for_disconnect()


@pytest.mark.requirement("messages:replay-in-place")
async def test_a_round_trip_returns_every_block_unchanged(upstream, http):
    parts = (Thought(["Let ", "me"], "EqQB+/="), Redacted("d"), Call("t1", "f", ['{"a": 1}']))
    upstream.script(Reply.events(message_stream(*parts)), Reply.events(message_stream(Words(["ok"]))))
    adapter = adapter_for(upstream, http)
    first = response_of((await collect(adapter))[0])
    results = Message("user", (ToolResultBlock("t1", "fine"),))
    await collect(adapter, request_for(Message.user("Hi"), first.as_message(), results, thinking="low"))
    sent = upstream.requests[1].json
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Let me", "signature": "EqQB+/="},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
    ]
    assert sent["thinking"]["type"] == "enabled"
