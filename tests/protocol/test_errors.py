"""Failures, with their codes and messages."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, Exchange, provider, user
from tests.fakes.refusing import refusing_address

CHAT = {"messages": [user("hi")]}


async def fail(daemon: Daemon, upstream: FakeUpstream, *replies: Reply, **params: Any) -> Exchange:
    """Run a chat that fails because of these answers, and check the properties that all failures share."""
    upstream.script(*replies)
    exchange = await daemon.request("chat/start", {**CHAT, **params})
    done = exchange.deltas[-1]
    assert (done["type"], done["stopReason"]) == ("done", "error")
    assert done["error"]["code"] == exchange.error["code"]
    assert done["content"] == exchange.error["data"]["partial"]["content"]
    assert exchange.error["data"]["provider"] == "fake"
    assert "Traceback" not in str(exchange.response)
    return exchange


@pytest.mark.requirement(
    "6:data",
    "6:authentication",
    "6:authorization",
    "6:quota",
    "6:context-exceeded",
    "6:content-filter",
    "6:request",
)
async def test_a_final_failure_is_reported_once_and_not_retried(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    failures: list[tuple[int, Any, int, str]] = [
        (401, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}, 1000, "authentication"),
        (403, {"error": {"message": "Not for you"}}, 1001, "authorization"),
        (402, {"error": {"message": "Pay first"}}, 1003, "quota_exceeded"),
        (429, {"error": {"message": "No credit", "code": "insufficient_quota"}}, 1003, "quota_exceeded"),
        (404, {"error": {"message": "No such model", "code": "model_not_found"}}, 1004, "request"),
        (400, {"error": {"message": "maximum context length is 9"}}, 1005, "context_exceeded"),
        (400, {"error": {"message": "blocked", "code": "content_filter"}}, 1006, "content_filter"),
        (422, {"detail": [{"msg": "field required"}]}, 1004, "request"),
    ]
    for number, (status, body, code, kind) in enumerate(failures, 1):
        exchange = await fail(chatty, upstream, Reply.json(body, status, x_request_id="req-9"))
        error = exchange.error
        assert (error["code"], error["data"]["kind"]) == (code, kind)
        assert error["data"]["statusCode"] == status
        assert error["data"]["retryable"] is False
        assert error["data"]["providerRequestId"] == "req-9"
        assert len(upstream.requests) == number


@pytest.mark.requirement("6:request")
async def test_an_unknown_model_is_named_with_its_provider(chatty: Daemon, upstream: FakeUpstream) -> None:
    refusal = Reply.json({"error": {"message": "no", "code": "model_not_found"}}, 404)
    exchange = await fail(chatty, upstream, refusal, model="fake:gpt-99")
    assert "gpt-99" in exchange.error["message"]
    assert "fake" in exchange.error["message"]


@pytest.mark.requirement("6:server", "2:retry")
async def test_a_server_failure_is_retried_and_then_reported(daemon: Daemon, upstream: FakeUpstream) -> None:
    await daemon.initialize(provider(upstream.base_url, max_retries=1))
    oops = Reply.raw(b"<html><body>Bad gateway</body></html>", 502, "text/html")
    exchange = await fail(daemon, upstream, oops, oops)
    assert (exchange.error["code"], exchange.error["data"]["retryable"]) == (1007, True)
    assert "<" not in exchange.error["message"]
    (retry,) = [delta for delta in exchange.deltas if delta["type"] == "retry"]
    assert (retry["attempt"], retry["maxAttempts"], retry["error"]["code"]) == (2, 2, 1007)
    assert retry["delayMs"] <= 500
    assert len(upstream.requests) == 2


@pytest.mark.requirement("2:retry", "6:rate-limit")
async def test_a_chat_continues_after_a_rate_limit(chatty: Daemon, upstream: FakeUpstream) -> None:
    busy = Reply.json({"error": {"message": "slow down"}}, 429, retry_after_ms="20")
    upstream.script(busy, Reply.events(completion_stream(["Hi"])))
    exchange = await chatty.request("chat/start", CHAT)
    assert exchange.result["text"] == "Hi"
    assert exchange.delta_types[:3] == ["start", "retry", "response"]
    assert exchange.deltas[1]["delayMs"] == 20


@pytest.mark.requirement("6:rate-limit", "6:wait")
async def test_a_rate_limit_of_more_than_a_minute_is_reported_instead(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    busy = Reply.json({"error": {"message": "slow down"}}, 429, retry_after="3600")
    exchange = await fail(chatty, upstream, busy)
    assert exchange.error["code"] == 1002
    assert exchange.error["data"]["retryAfter"] == 3600
    assert exchange.error["data"]["hint"] == "Try again in 60 minutes."
    assert len(upstream.requests) == 1


@pytest.mark.requirement("6:connection")
async def test_the_error_for_an_unreachable_base_url_names_the_host(daemon: Daemon) -> None:
    with refusing_address() as host:
        await daemon.initialize(provider(f"http://{host}/v1", max_retries=0))
        error = (await daemon.request("chat/start", CHAT)).error
    assert (error["code"], error["data"]["kind"]) == (1008, "connection")
    assert host in error["message"]
    assert error["data"]["retryable"] is True


@pytest.mark.requirement("6:connection")
async def test_a_silent_provider_fails_after_its_timeout(daemon: Daemon, upstream: FakeUpstream) -> None:
    # The first words must arrive within the timeout, even on a busy machine. Only the rest must time out.
    await daemon.initialize(provider(upstream.base_url, timeout=1.0, max_retries=0))
    exchange = await fail(daemon, upstream, Reply.events(completion_stream(["Hel"])[:2]).stall_after())
    assert exchange.error["code"] == 1008
    assert exchange.error["data"]["partial"]["text"] == "Hel"


@pytest.mark.requirement("6:protocol", "2:error-in-mid-stream")
async def test_an_answer_that_ends_early_keeps_its_partial(chatty: Daemon, upstream: FakeUpstream) -> None:
    early = Reply.events(completion_stream(["Hel", "lo"], done=False)[:3])
    exchange = await fail(chatty, upstream, early)
    assert exchange.error["code"] == 1009
    assert exchange.error["data"]["partial"]["text"] == "Hello"
    assert len(upstream.requests) == 1


@pytest.mark.requirement("2:error-in-mid-stream")
async def test_a_reset_in_mid_stream_keeps_the_partial_and_is_not_retried(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    stream = Reply.events(completion_stream(["Hel", "lo"]))
    exchange = await fail(chatty, upstream, stream.reset_after(len(stream.body) - 300))
    assert exchange.error["code"] in (1008, 1009)
    assert "Hello".startswith(exchange.error["data"]["partial"]["text"])
    assert len(upstream.requests) == 1


@pytest.mark.requirement("2:error-in-mid-stream")
async def test_an_error_inside_the_stream_is_the_chats_error(chatty: Daemon, upstream: FakeUpstream) -> None:
    events = [*completion_stream(["Hel"])[:2], {"error": {"message": "Overloaded", "code": 503}}]
    exchange = await fail(chatty, upstream, Reply.events(events))
    assert exchange.error["code"] == 1007
    assert exchange.error["data"]["partial"]["text"] == "Hel"


@pytest.mark.requirement("7:host")
async def test_a_redirect_is_not_followed(daemon: Daemon, upstream: FakeUpstream) -> None:
    await daemon.initialize(provider(upstream.base_url, api_key="canary-key-12345"))
    async with FakeUpstream() as elsewhere:
        away = Reply((), 307, {"location": f"{elsewhere.base_url}/chat/completions"})
        exchange = await fail(daemon, upstream, away)
        assert elsewhere.requests == []
    assert exchange.error["code"] == 1004


@pytest.mark.requirement("6:no-secrets")
async def test_a_key_reaches_only_the_provider(daemon: Daemon, upstream: FakeUpstream) -> None:
    key = "canary-key-12345"
    await daemon.initialize(provider(upstream.base_url, api_key=key))
    echo = Reply.json({"error": {"message": f"Incorrect API key provided: {key}"}}, 401)
    exchange = await fail(daemon, upstream, echo)
    assert upstream.requests[0].headers["authorization"] == f"Bearer {key}"
    assert exchange.error["code"] == 1000
    assert key not in str(exchange)
    listing = await daemon.request("providers/list")
    assert key not in str(listing)
    assert key not in await daemon.whole_log()
