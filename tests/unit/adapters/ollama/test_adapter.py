"""The adapter of Ollama servers, against a fake one."""

import asyncio

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.adapters.ollama.adapter import FIRST_BYTE_SECONDS
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ConnectionError,
    ContextExceededError,
    ImageBlock,
    Message,
    ProtocolError,
    RateLimitError,
    RequestError,
    ServerError,
    ToolDefinition,
    UnknownModelError,
)
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.ollama_chat import call, error, last, lines, part
from jumpseat.testing.upstream import Gate, Reply
from tests.fakes.ollama import FakeModel
from tests.fakes.refusing import refusing_address
from tests.unit.adapters.ollama_chats import HELLO, adapter_for, collect, request_for
from tests.unit.adapters.streams import WAIT, codes, fold_events

PICTURE = Message("user", (ImageBlock("QUJD"),))


def response_of(events):
    return fold_events(events, "qwen3:4b")


async def test_the_events_of_a_streamed_answer_obey_the_rules_of_events(server, http, upstream):
    server.script(HELLO)
    events, failure = await collect(adapter_for(server.base_url + "/", http))
    assert failure is None
    assert_laws(events)
    response = response_of(events)
    assert (response.text, response.stop_reason) == ("Hello", "end_turn")
    assert response.provider_request_id == "req_1"
    assert codes(events) == []
    sent = upstream.requests[-1]
    assert (sent.method, sent.path) == ("POST", "/api/chat")
    assert sent.headers["accept"].startswith("application/x-ndjson")
    assert "authorization" not in sent.headers


async def test_an_unstreamed_answer_gives_the_same_response(server, http):
    whole = last(content="Hello")
    whole["message"] |= {"thinking": "Hm", "tool_calls": [call("weather", {"city": "Rome"}, call_id="c")]}
    server.script(
        lines(part(thinking="Hm"), part("Hello"), part(tool_calls=whole["message"]["tool_calls"]), last()),
        Reply.json(whole),
    )
    adapter = adapter_for(server.base_url, http)
    responses = []
    for stream in (True, False):
        events, failure = await collect(adapter, request_for(stream=stream))
        assert failure is None
        assert_laws(events)
        responses.append(response_of(events))
    assert responses[0] == responses[1]
    assert responses[0].stop_reason == "tool_use"


async def test_each_line_yields_its_delta_immediately(server, http):
    gate = Gate()
    server.script(lines(part("Hel"), gate, part("lo"), last()))
    async with asyncio.timeout(WAIT):
        async for event in adapter_for(server.base_url, http).stream(request_for()):
            if event.type == "text_delta":
                gate.open()
    assert gate._event.is_set()


async def test_leaving_the_iterator_closes_the_connection(server, http, upstream):
    server.script(lines(part("Hel"), Gate(), last()))
    events = adapter_for(server.base_url, http).stream(request_for())
    async for event in events:
        if event.type == "text_delta":
            break
    await events.aclose()
    await upstream.wait_for_disconnect(2)  # The first request fetched the facts of the model.


@pytest.mark.requirement("ollama:cloud")
async def test_a_configured_key_is_sent_as_a_bearer_token(server, http, upstream):
    adapter = adapter_for(server.base_url, http, api_key="key-of-acme")
    server.script(HELLO)
    await collect(adapter)
    assert {each.headers["authorization"] for each in upstream.requests} == {"Bearer key-of-acme"}
    assert (await adapter.account.auth_status()).state == "configured"
    assert (await adapter.account.auth_status(refresh=True)).state == "signed_in"
    without_key = adapter_for(server.base_url, http)
    assert (await without_key.account.auth_status(refresh=True)).state == "not_required"


@pytest.mark.requirement("ollama:no-thinking")
async def test_refused_thinking_is_dropped_for_that_model_from_then_on(server, http):
    server.models[:] = [FakeModel(capabilities=("completion",))]
    adapter = adapter_for(server.base_url, http)
    server.script(HELLO, HELLO)
    events, failure = await collect(adapter, request_for(thinking="high"))
    assert isinstance(failure, Replan)
    assert failure.reason == "refused_parameter:think"
    assert isinstance(failure.error, RequestError)
    assert events == []
    events, failure = await collect(adapter, request_for(thinking="high"))
    assert failure is None
    assert codes(events) == ["thinking_dropped"]
    assert ["think" in chat for chat in server.chats] == [True, False]


@pytest.mark.requirement("ollama:no-thinking")
async def test_a_server_without_thinking_levels_causes_a_replan(server, http):
    server.script(
        error("json: cannot unmarshal string into Go struct field ChatRequest.think of type bool", 400)
    )
    adapter = adapter_for(server.base_url, http)
    _, failure = await collect(adapter, request_for(thinking="high"))
    assert isinstance(failure, Replan)


async def test_an_unrelated_refusal_does_not_drop_thinking(server, http):
    server.models[:] = [FakeModel("qwen3-thinking")]
    server.script(error("qwen3-thinking: invalid option provided", 400))
    request = request_for(model="qwen3-thinking", thinking="high")
    _, failure = await collect(adapter_for(server.base_url, http), request)
    assert type(failure) is RequestError


@pytest.mark.requirement("ollama:no-tools")
async def test_a_model_that_does_not_support_tools_is_reported_with_a_hint(server, http):
    server.models[:] = [FakeModel(capabilities=("completion",))]
    server.script(HELLO)
    _, failure = await collect(adapter_for(server.base_url, http), request_for(tools=(ToolDefinition("f"),)))
    assert type(failure) is RequestError
    assert "does not support tools" in failure.message
    assert "without tools" in failure.hint


@pytest.mark.requirement("ollama:no-vision")
async def test_images_are_refused_for_a_model_that_would_ignore_them(server, http):
    request = request_for(messages=(PICTURE,))
    _, failure = await collect(adapter_for(server.base_url, http), request)
    assert type(failure) is RequestError
    assert server.chats == []
    server.script(HELLO, HELLO)
    _, failure = await collect(adapter_for(server.base_url, http, capabilities={"vision": True}), request)
    assert failure is None
    server.models[:] = [FakeModel(capabilities=("completion", "vision"))]
    _, failure = await collect(adapter_for(server.base_url, http), request)
    assert failure is None
    assert server.chats[-1]["messages"][0]["images"] == ["QUJD"]


@pytest.mark.requirement("ollama:model-not-found")
async def test_a_missing_model_is_reported_with_the_command_that_pulls_it(server, http):
    _, failure = await collect(adapter_for(server.base_url, http), request_for(model="gemma3:1b"))
    assert type(failure) is UnknownModelError
    assert failure.message == "The provider acme has no model 'gemma3:1b'."
    assert "`ollama pull gemma3:1b`" in failure.hint
    assert failure.status_code == 404


async def test_another_server_at_this_address_is_reported_as_such(http, upstream):
    upstream.default(Reply.raw(b"404 page not found", 404))
    _, failure = await collect(adapter_for(upstream.origin, http))
    assert type(failure) is RequestError
    assert "Check that it is Ollama" in failure.hint
    assert "base_url" not in failure.hint


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/chat", "/v1", "/v1/chat"])
async def test_a_404_is_explained_by_a_base_url_that_is_too_long(http, upstream, path):
    upstream.default(Reply.raw(b"404 page not found", 404))
    _, failure = await collect(adapter_for(upstream.origin + path, http))
    assert failure.hint == "providers.acme.base_url must end before /api/chat."


async def test_a_404_of_a_configured_url_is_explained_by_its_key(http, upstream):
    upstream.default(Reply.raw(b"404 page not found", 404))
    _, failure = await collect(adapter_for(None, http, url=f"{upstream.origin}/api"))
    assert failure.hint == "providers.acme.url must be the complete URL, including /api/chat."


@pytest.mark.requirement("ollama:not-running")
async def test_a_server_that_is_not_running_is_reported_with_the_command_that_starts_it(http):
    with refusing_address() as address:
        adapter = adapter_for(f"http://{address}", http)
        _, failure = await collect(adapter)
        with pytest.raises(ConnectionError) as unlisted:
            await adapter.list_models()
    assert isinstance(failure, ConnectionError)
    assert "connection refused" in failure.message
    assert "`ollama serve`" in failure.hint
    assert "`ollama serve`" in unlisted.value.hint


@pytest.mark.requirement("ollama:slow-first-byte")
async def test_a_timeout_before_the_first_byte_is_not_retried(server, http, upstream):
    assert FIRST_BYTE_SECONDS >= 300
    server.script(lines(part("x")).stall_after(0))
    adapter = adapter_for(server.base_url, http, timeout=0.2)
    _, failure = await collect(adapter)
    assert isinstance(failure, ConnectionError)
    assert not failure.retryable
    assert "providers.acme.timeout" in failure.hint


@pytest.mark.requirement("ollama:context-exceeded")
async def test_a_too_long_prompt_is_a_context_error(server, http):
    server.script(error("the input length exceeds the context length", 400))
    _, failure = await collect(adapter_for(server.base_url, http))
    assert type(failure) is ContextExceededError
    assert server.chats[0]["truncate"] is False


@pytest.mark.requirement("ollama:error-before-output")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (error("unauthorized", 401, signin_url="https://ollama.com/connect?x=1"), AuthenticationError),
        (error("this model requires a subscription", 403), AuthorizationError),
        (error("you have reached your hourly usage limit", 429), RateLimitError),
        (error("model requires more system memory (9 GiB) than is available (4 GiB)", 500), ServerError),
        (error("upstream unreachable", 502), ServerError),
        (error("invalid options", 400), RequestError),
    ],
)
async def test_refusals_map_to_their_errors(server, http, reply, kind):
    server.script(reply)
    events, failure = await collect(adapter_for(server.base_url, http))
    assert (events, type(failure)) == ([], kind)
    assert failure.status_code == reply.status
    if kind is AuthenticationError:
        assert "ollama signin" in failure.hint


@pytest.mark.requirement("ollama:error-in-stream", "ollama:early-end")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (lines(part("Hel"), {"error": "CUDA error"}), ServerError),
        (lines(part("Hel")), ProtocolError),
        (lines(part("Hel"), part("lo")).close_after(150), ProtocolError),  # This cuts the second line.
    ],
)
async def test_events_before_a_failure_are_kept(server, http, reply, kind):
    server.script(reply)
    events, failure = await collect(adapter_for(server.base_url, http))
    assert isinstance(failure, kind)
    assert_laws(events, ended=False)
    assert [event.text for event in events if event.type == "text_delta"] == ["Hel"]
