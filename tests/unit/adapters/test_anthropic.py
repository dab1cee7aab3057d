"""The adapter of Anthropic's Messages API, against a scripted server."""

import asyncio

import pytest

from jumpseat.adapters.anthropic import AnthropicAdapter
from jumpseat.adapters.base import Replan
from jumpseat.chat import (
    AuthenticationError,
    ChatError,
    ChatRequest,
    ContextExceededError,
    Fold,
    ImageBlock,
    JsonSchemaOutput,
    Message,
    Origin,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RedactedThinkingBlock,
    RequestError,
    ResponseEvent,
    ServerError,
    TextBlock,
    TextDeltaEvent,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    WarningEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
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
from jumpseat.testing.upstream import FakeUpstream, Reply

WAIT = 5
MODEL = "claude-haiku-4-5"


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def upstream():
    async with FakeUpstream() as server:
        yield server


def adapter_for(upstream, http, **config):
    table = {"kind": "anthropic", "base_url": upstream.origin, "api_key": "key-of-acme", **config}
    return AnthropicAdapter("acme", ProviderConfig(**table), http)


def request_for(*messages, **more):
    return ChatRequest(**{"messages": messages or (Message.user("Hi"),), "model": MODEL, **more})


async def collect(adapter, request=None):
    """The events, and the error that ended them if one did."""
    events = []
    try:
        async with asyncio.timeout(WAIT):
            async for event in adapter.stream(request or request_for()):
                events.append(event)  # noqa: PERF401 - what came before a failure must not be lost
    except (ChatError, Replan) as error:
        return events, error
    return events, None


def response_of(events):
    fold = Fold("acme", MODEL)
    for event in events:
        fold.add(event)
    return fold.response()


def codes(events):
    return [event.code for event in events if isinstance(event, WarningEvent)]


def refused(text, kind="invalid_request_error", status=400, **headers):
    return Reply.json(error_body(kind, text), status, **headers)


@pytest.mark.requirement("messages:headers", "messages:request-id")
async def test_a_streamed_answer_comes_as_events_that_keep_the_laws(upstream, http):
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
    assert sent.json == {
        "model": MODEL,
        "max_tokens": 8192,
        "stream": True,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    }


@pytest.mark.requirement("messages:headers")
async def test_configured_headers_go_before_our_own(upstream, http):
    upstream.script(Reply.events(message_stream(Words(["x"]))))
    headers = {"anthropic-beta": "a,b", "Authorization": "Bearer t", "Anthropic-Version": "2024-01-01"}
    await collect(adapter_for(upstream, http, headers=headers, base_url=f"{upstream.origin}/v1/"))
    sent = upstream.requests[0]
    assert sent.path == "/v1/messages"
    assert sent.headers["anthropic-beta"] == "a,b"
    assert sent.headers["authorization"] == "Bearer t"
    assert sent.headers["anthropic-version"] == "2024-01-01"


@pytest.mark.requirement("messages:version-2026-10-21")
async def test_the_newer_version_of_the_api_gets_no_sampling(upstream, http):
    upstream.script(Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http, headers={"anthropic-version": "2026-10-21"})
    events, _ = await collect(adapter, request_for(settings={"temperature": 1}))
    assert "temperature" not in upstream.requests[0].json
    assert codes(events) == ["parameter_dropped"]


def test_without_a_base_url_anthropic_itself_is_asked(http):
    adapter = AnthropicAdapter("acme", ProviderConfig(kind="anthropic"), http)
    assert adapter._base_url == "https://api.anthropic.com"


@pytest.mark.requirement("messages:whole-body")
async def test_an_answer_that_is_not_streamed_gives_the_same_response(upstream, http):
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
    upstream.script(refused("Because.", kind, status, request_id="req_7"))
    _, error = await collect(adapter_for(upstream, http))
    assert type(error) is expected
    assert (error.status_code, error.retryable, error.provider_code) == (status, retryable, kind)
    assert error.provider_request_id == "req_7"
    assert "Because." in error.message
    assert "key-of-acme" not in error.message


@pytest.mark.requirement("messages:retry-after")
async def test_how_long_to_wait_is_kept(upstream, http):
    limits = {
        "anthropic_ratelimit_requests_remaining": "4",
        "anthropic_ratelimit_requests_reset": "2026-01-01T00:00:00Z",
        "anthropic_ratelimit_input_tokens_remaining": "0",
        "anthropic_ratelimit_input_tokens_reset": "2026-01-01T00:05:00Z",
    }
    upstream.script(
        refused("Slow", "rate_limit_error", 429, retry_after="7", **limits),
        refused("No", "rate_limit_error", 429, x_should_retry="false"),
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
async def test_a_prompt_that_is_too_long_is_said_so(upstream, http):
    upstream.script(refused("prompt is too long: 3333404 tokens > 200000 maximum"))
    assert isinstance((await collect(adapter_for(upstream, http)))[1], ContextExceededError)


async def test_an_unknown_model_is_named(upstream, http):
    upstream.script(refused(f"model: {MODEL}", "not_found_error", 404))
    _, error = await collect(adapter_for(upstream, http))
    assert type(error) is RequestError
    assert error.message == f"The provider acme has no model {MODEL!r}."


async def test_a_404_about_something_else_is_not_blamed_on_the_model(upstream, http):
    upstream.script(Reply.json({"detail": "Not Found"}, 404))
    _, error = await collect(adapter_for(upstream, http))
    assert error.message == "acme refused the request (HTTP 404): Not Found."


@pytest.mark.requirement("messages:early-end")
async def test_an_answer_cut_off_is_a_protocol_error(upstream, http):
    reply = Reply.events(message_stream(Words(["Hello ", "world"])))
    upstream.script(reply.close_after(reply.body.index(b"world")))
    events, error = await collect(adapter_for(upstream, http))
    assert isinstance(error, ProtocolError)
    assert "".join(event.text for event in events if isinstance(event, TextDeltaEvent)) == "Hello "


async def test_closing_the_iterator_closes_the_upstream_connection_at_once(upstream, http):
    upstream.script(Reply.events(message_stream(Words(["a"]))[:4]).stall_after())
    events = adapter_for(upstream, http).stream(request_for())
    async with asyncio.timeout(WAIT):
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                break
        await events.aclose()
    await upstream.wait_for_disconnect()


@pytest.mark.requirement("messages:refused-parameter")
@pytest.mark.parametrize(
    ("text", "settings", "left_out"),
    [
        ("temperature: Extra inputs are not permitted", {"temperature": 0.5}, "temperature"),
        ("`top_k` is deprecated for this model.", {"top_k": 5}, "top_k"),
        (
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
            {"temperature": 0.5, "top_p": 0.5},
            "top_p",
        ),
    ],
)
async def test_a_refused_parameter_is_dropped_with_a_warning_and_remembered(
    upstream, http, text, settings, left_out
):
    upstream.script(refused(text))
    upstream.default(Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http)
    request = request_for(settings=settings)
    _, replan = await collect(adapter, request)
    assert isinstance(replan, Replan)
    assert replan.reason == f"refused_parameter:{left_out}"
    assert isinstance(replan.error, RequestError)
    for number in (1, 2):
        events, error = await collect(adapter, request)
        assert error is None
        assert codes(events) == ["parameter_dropped"]
        kept = settings.keys() & upstream.requests[number].json.keys()
        assert kept == settings.keys() - {left_out}


@pytest.mark.requirement("messages:refused-parameter")
@pytest.mark.parametrize(
    ("model", "level", "text", "first", "second"),
    [
        (
            "claude-opus-4-6",
            "low",
            "adaptive thinking is not supported on this model",
            {"type": "adaptive"},
            {"type": "enabled", "budget_tokens": 2048},
        ),
        (
            "house-model",
            "low",
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
            {"type": "enabled", "budget_tokens": 2048},
            {"type": "adaptive"},
        ),
        (
            "claude-opus-5",
            "off",
            "thinking: `disabled` is not supported for this model",
            {"type": "disabled"},
            {"type": "adaptive"},
        ),
        (
            "claude-opus-5",
            "low",
            "thinking.adaptive.display: Extra inputs are not permitted",
            {"type": "adaptive", "display": "summarized"},
            {"type": "adaptive"},
        ),
    ],
)
async def test_a_refused_form_of_thinking_is_said_in_another(
    upstream, http, model, level, text, first, second
):
    upstream.script(refused(text), Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http)
    request = request_for(model=model, thinking=level)
    _, replan = await collect(adapter, request)
    assert replan.reason.startswith("refused_parameter:thinking")
    assert (await collect(adapter, request))[1] is None
    forms = [each.json["thinking"] for each in upstream.requests]
    assert forms[0] == first
    assert {name: forms[1][name] for name in second} == second


@pytest.mark.requirement("messages:refused-parameter")
async def test_thinking_that_is_refused_in_every_form_is_left_out(upstream, http):
    text = "thinking is not supported for this model"
    upstream.script(refused(text), refused(text))
    upstream.default(Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http)
    request = request_for(model="house-model", thinking="low")
    reasons = [(await collect(adapter, request))[1].reason for _ in range(2)]
    assert len(set(reasons)) == 2
    events, error = await collect(adapter, request)
    assert error is None
    assert "thinking" not in upstream.requests[2].json
    assert codes(events) == ["parameter_dropped"]


@pytest.mark.requirement("messages:refused-parameter")
async def test_a_refused_effort_leaves_the_schema_alone(upstream, http):
    upstream.script(
        refused("This model does not support the effort parameter."), Reply.events(message_stream())
    )
    adapter = adapter_for(upstream, http)
    schema = JsonSchemaOutput({"type": "object"})
    request = request_for(model="claude-sonnet-4-6", thinking="low", output_mode=schema)
    assert isinstance((await collect(adapter, request))[1], Replan)
    assert (await collect(adapter, request))[1] is None
    assert set(upstream.requests[1].json["output_config"]) == {"format"}


@pytest.mark.requirement("messages:refused-parameter")
@pytest.mark.parametrize(
    "text", ["tools.0: Extra inputs are not permitted", "messages: roles are not supported", "Nonsense."]
)
async def test_a_refusal_of_what_matters_is_an_answer(upstream, http, text):
    upstream.script(refused(text))
    _, error = await collect(adapter_for(upstream, http), request_for(tools=(ToolDefinition("f"),)))
    assert type(error) is RequestError


@pytest.mark.requirement("messages:max-tokens-limit")
async def test_the_models_limit_is_learnt_from_the_refusal(upstream, http):
    text = "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for x"
    upstream.script(refused(text), Reply.events(message_stream()))
    adapter = adapter_for(upstream, http)
    request = request_for(model="house-model", max_tokens=64_000)
    _, replan = await collect(adapter, request)
    assert replan.reason == "refused_parameter:max_tokens"
    assert (await collect(adapter, request))[1] is None
    assert upstream.requests[1].json["max_tokens"] == 8192


@pytest.mark.requirement("messages:replay-refused", "messages:replay-foreign")
@pytest.mark.parametrize(
    "text",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: `thinking` blocks in the latest assistant message cannot be modified.",
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ],
)
async def test_refused_thinking_is_left_out_once(upstream, http, text):
    upstream.script(refused(text), Reply.events(message_stream(Words(["x"]))))
    here = Origin("acme", MODEL)
    turn = Message(
        "assistant",
        (
            ThinkingBlock("Hm", "sig", origin=here),
            RedactedThinkingBlock("d", origin=here),
            TextBlock("a", origin=here),
        ),
    )
    adapter = adapter_for(upstream, http)
    _, replan = await collect(adapter, request_for(Message.user("q"), turn, Message.user("r")))
    assert replan.reason == "foreign_thinking"
    kinds = [part["type"] for part in upstream.requests[0].json["messages"][1]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text"]
    events, error = await collect(adapter, replan.request)
    assert error is None
    assert codes(events) == ["foreign_data_dropped"]
    content = upstream.requests[1].json["messages"][1]["content"]
    assert content == [{"type": "text", "text": "a"}]


async def test_a_refusal_about_thinking_is_final_where_none_was_sent(upstream, http):
    upstream.script(refused("Invalid `signature` in `thinking` block"))
    assert type((await collect(adapter_for(upstream, http)))[1]) is RequestError


@pytest.mark.requirement("messages:replay-in-place")
async def test_a_round_trip_gives_every_block_back_as_it_came(upstream, http):
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


@pytest.mark.requirement("messages:count-tokens")
async def test_tokens_are_counted_by_the_api(upstream, http):
    upstream.script(Reply.json({"input_tokens": 17}), path="/v1/messages/count_tokens")
    request = request_for(
        Message("user", (TextBlock("Hi"), ImageBlock("aGk="))),
        system="S",
        tools=(ToolDefinition("f"),),
        thinking="low",
        settings={"temperature": 1},
        stop_sequences=["x"],
    )
    assert await adapter_for(upstream, http).count_tokens(request) == 17
    assert set(upstream.requests[0].json) == {"model", "messages", "system", "tools"}


@pytest.mark.requirement("messages:count-tokens")
@pytest.mark.parametrize(
    "reply",
    [
        Reply.json({"detail": "Not Found"}, 404),
        Reply.json({}, 405),
        Reply.raw(b"<html>hello</html>"),
        Reply.json({"tokens": 3}),
    ],
)
async def test_an_endpoint_without_a_count_has_none(upstream, http, reply):
    upstream.script(reply)
    assert await adapter_for(upstream, http).count_tokens(request_for()) == -1


async def test_a_count_that_fails_says_so(upstream, http):
    upstream.script(refused("No", "authentication_error", 401))
    with pytest.raises(AuthenticationError):
        await adapter_for(upstream, http).count_tokens(request_for())


def row(name, **more):
    return {"type": "model", "id": name, "display_name": name.title(), **more}


def can(flag=True, **more):
    return {"supported": flag, **more}


@pytest.mark.requirement("messages:models", "messages:model-capabilities")
async def test_every_page_of_the_list_of_models_is_read(upstream, http):
    types = {"adaptive": can(), "enabled": can(False), "disabled": can(False), "between_tools": can(False)}
    capabilities = {
        "image_input": can(False),
        "structured_outputs": can(),
        "thinking": can(types=types),
        "effort": can(low=can(), medium=can(), high=can(False)),
    }
    new = row("claude-new-9", max_input_tokens=200_000, max_tokens=3000, capabilities=capabilities)
    old = row("claude-opus-4-1", lifecycle="deprecated", retires_at="2026-08-05T00:00:00Z")
    upstream.script(
        Reply.json({"data": [new], "has_more": True, "last_id": "claude-new-9"}),
        Reply.json({"data": [old, {"no": "id"}], "has_more": False, "last_id": "x"}),
        Reply.events(message_stream()),
    )
    adapter = adapter_for(upstream, http, default_model="claude-new-9")
    first, second = await adapter.list_models()
    assert [each.query for each in upstream.requests] == ["limit=1000", "limit=1000&after_id=claude-new-9"]
    assert (first.id, first.name, first.is_default) == ("acme:claude-new-9", "Claude-New-9", True)
    assert (first.max_context_tokens, first.max_output_tokens) == (200_000, 3000)
    assert adapter.max_context_tokens("claude-new-9") == 200_000
    assert (first.supports_vision, first.supports_json, first.supports_thinking) == (False, True, True)
    assert first.thinking_levels == ["low", "medium"]
    assert (second.deprecated, second.picker_enabled, second.family) == (True, True, "opus")
    assert second.max_context_tokens is None
    assert "2026-08-05" in second.messages[0]
    await collect(adapter, request_for(model="claude-new-9", thinking="low", max_tokens=9000))
    sent = upstream.requests[2].json
    assert (sent["thinking"], sent["max_tokens"]) == ({"type": "adaptive"}, 3000)


@pytest.mark.requirement("messages:models")
async def test_a_list_in_another_shape_is_read_as_far_as_it_goes(upstream, http):
    upstream.script(Reply.json({"object": "list", "data": [{"id": "m", "context_length": 1000}]}))
    (model,) = await adapter_for(upstream, http).list_models()
    assert (model.model, model.name, model.max_context_tokens) == ("m", "m", 1000)
    upstream.script(Reply.json({"models": 3}))
    with pytest.raises(ProtocolError):
        await adapter_for(upstream, http).list_models()
