"""The adapter of OpenAI-compatible providers, against a scripted server."""

import asyncio
import contextlib
import json
from dataclasses import replace

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.adapters.openai import OpenAIAdapter
from jumpseat.chat import (
    AuthenticationError,
    ChatError,
    ChatRequest,
    ConfigError,
    ConnectionError,
    Fold,
    Message,
    ProtocolError,
    RequestError,
    ResponseEvent,
    TextDeltaEvent,
    ToolDefinition,
    WarningEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.chat_completions import FakeCall, chunk, completion_body, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.fakes.refusing import refusing_address

WAIT = 5


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def upstream():
    async with FakeUpstream() as server:
        yield server


def adapter_for(base_url, http, **config):
    return OpenAIAdapter("acme", ProviderConfig(kind="openai", base_url=base_url, **config), http)


def request_for(text="Hi", **more):
    return ChatRequest(**{"messages": (Message.user(text),), "model": "fake-model", **more})


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


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDeltaEvent))


@pytest.mark.requirement("chat:request")
async def test_a_streamed_answer_comes_as_events_that_keep_the_laws(upstream, http):
    upstream.script(Reply.events(completion_stream(["Hel", "lo"]), x_request_id="req_1"))
    events, error = await collect(adapter_for(upstream.base_url, http, api_key="key-of-acme"))
    assert error is None
    assert_laws(events)
    assert text_of(events) == "Hello"
    started = next(event for event in events if isinstance(event, ResponseEvent))
    assert (started.model, started.provider_request_id) == ("fake-model", "req_1")
    sent = upstream.requests[0]
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == "Bearer key-of-acme"
    assert sent.headers["user-agent"].startswith("jumpseat/")
    assert len(sent.headers["x-request-id"]) == 32
    assert sent.json == {
        "model": "fake-model",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 8192,
    }


async def test_an_answer_that_is_not_streamed_gives_the_same_response(upstream, http):
    call = FakeCall("call_1", "weather", ['{"city": ', '"Rome"}'])
    upstream.script(
        Reply.events(completion_stream(["Look: "], reasoning=["Hm"], tool_calls=[call])),
        Reply.json(completion_body("Look: ", reasoning="Hm", tool_calls=[call])),
    )
    adapter = adapter_for(upstream.base_url, http)
    responses = []
    for stream in (True, False):
        fold = Fold("acme", "fake-model")
        events, error = await collect(adapter, request_for(stream=stream))
        assert error is None
        assert_laws(events)
        for event in events:
            fold.add(event)
        responses.append(fold.response())
    assert responses[0] == responses[1]
    assert responses[0].stop_reason == "tool_use"
    assert "authorization" not in upstream.requests[0].headers


@pytest.mark.requirement("chat:further-parameters")
async def test_configured_headers_and_parameters_are_sent(upstream, http, monkeypatch):
    monkeypatch.setenv("ACME_TENANT", "tenant-7")
    upstream.script(Reply.events(completion_stream(["x"])))
    adapter = adapter_for(
        upstream.base_url + "/", http, headers={"X-Tenant": "env:ACME_TENANT"}, parameters={"seed": 1}
    )
    await collect(adapter, request_for(settings={"temperature": 0.2}))
    sent = upstream.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["x-tenant"] == "tenant-7"
    assert (sent.json["seed"], sent.json["temperature"]) == (1, 0.2)


async def test_a_host_that_cannot_be_reached_is_named(http):
    with refusing_address() as address:
        _, error = await collect(adapter_for(f"http://{address}/v1", http))
    assert isinstance(error, ConnectionError)
    assert address in error.message
    assert "connection refused" in error.message


async def test_a_wrong_key_is_an_authentication_error_that_says_where_the_key_is(upstream, http):
    upstream.script(Reply.json({"error": {"message": "Bad key", "code": "invalid_api_key"}}, 401))
    _, error = await collect(adapter_for(upstream.base_url, http, api_key="wrong-key-canary"))
    assert isinstance(error, AuthenticationError)
    assert "providers.acme.api_key" in error.hint
    assert "canary" not in error.message


@pytest.mark.requirement("chat:error-codes")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}),
        (404, {"error": "model 'fake-model' not found"}),
        (400, {"error": {"message": "fake-model is not a valid model ID", "code": 400}}),
    ],
)
async def test_an_unknown_model_names_model_and_provider(upstream, http, status, body):
    upstream.script(Reply.json(body, status))
    _, error = await collect(adapter_for(upstream.base_url, http))
    assert type(error) is RequestError
    assert "'fake-model'" in error.message
    assert "acme" in error.message


async def test_a_404_about_something_else_is_not_blamed_on_the_model(upstream, http):
    upstream.script(Reply.json({"detail": "Not Found"}, 404))
    _, error = await collect(adapter_for(upstream.base_url, http))
    assert error.message == "acme refused the request (HTTP 404): Not Found."


async def test_closing_the_iterator_closes_the_upstream_connection_at_once(upstream, http):
    upstream.script(Reply.events([chunk({"content": "a"})]).stall_after())
    events = adapter_for(upstream.base_url, http).stream(request_for())
    async with asyncio.timeout(WAIT):
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                break
        assert not upstream.requests[0].disconnected.is_set()
        await events.aclose()
    await upstream.wait_for_disconnect()


@pytest.mark.parametrize("stalled", [True, False], ids=["in the body", "before the headers"])
async def test_cancelling_the_task_closes_the_upstream_connection_at_once(upstream, http, stalled):
    gate = Gate()
    reply = Reply.events([chunk({"content": "a"})])
    upstream.script(reply.stall_after() if stalled else replace(reply, pieces=(gate,)))
    task = asyncio.ensure_future(collect(adapter_for(upstream.base_url, http)))
    await upstream.wait_for_request()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, WAIT)
    assert task.cancelled()
    await upstream.wait_for_disconnect()


async def test_fifty_chats_at_once_do_not_mix(upstream, http):
    def answer(request):
        question = request.json["messages"][0]["content"]
        return Reply.events(completion_stream([f"{question}:{n} " for n in range(20)])).sliced(17)

    upstream.default(answer)
    adapter = adapter_for(upstream.base_url, http)
    results = await asyncio.gather(*(collect(adapter, request_for(f"q{n}")) for n in range(50)))
    for number, (events, error) in enumerate(results):
        assert error is None
        assert text_of(events) == "".join(f"q{number}:{n} " for n in range(20))


async def test_silence_longer_than_the_limit_is_a_connection_error(upstream, http):
    upstream.script(Reply.events([chunk({"content": "a"})]).stall_after())
    # Long enough for the first word to come on a busy machine: what is silent must be the rest.
    events, error = await collect(adapter_for(upstream.base_url, http, timeout=0.5))
    assert text_of(events) == "a"
    assert isinstance(error, ConnectionError)
    assert "went silent for 0.5 s" in error.message


async def test_a_reset_at_any_byte_gives_one_error_and_a_prefix_of_the_text(upstream, http):
    reply = Reply.events(completion_stream(["Hello ", "wörld", "!"]))
    # Behind the finish reason the answer is complete, however its connection ends.
    finished = reply.body.index(b'"finish_reason": "stop"')
    adapter = adapter_for(upstream.base_url, http)
    for offset in range(0, finished, 7):
        upstream.script(reply.reset_after(offset))
        events, error = await collect(adapter)
        assert isinstance(error, ConnectionError), offset
        assert "Hello wörld!".startswith(text_of(events))
        assert_laws(events, ended=False)
        assert error.provider == "acme"
    upstream.script(reply.reset_after(reply.body.index(b"[DONE]")))
    events, error = await collect(adapter)
    assert error is None
    assert_laws(events)


@pytest.mark.requirement("chat:done-missing")
async def test_an_answer_cut_off_is_a_protocol_error(upstream, http):
    reply = Reply.events(completion_stream(["Hello ", "world"]))
    upstream.script(reply.close_after(reply.body.index(b"world") + 2))
    events, error = await collect(adapter_for(upstream.base_url, http))
    assert isinstance(error, ProtocolError)
    assert error.message == "acme ended its answer early."
    assert text_of(events) == "Hello "


@pytest.mark.requirement("chat:done-then-open")
async def test_the_end_mark_ends_the_answer_though_the_socket_stays_open(upstream, http):
    upstream.script(Reply.events(completion_stream(["x"])).stall_after())
    events, error = await collect(adapter_for(upstream.base_url, http))
    assert error is None
    assert_laws(events)
    await upstream.wait_for_disconnect()


async def test_a_finished_answer_leaves_its_connection_for_the_next(upstream, http):
    upstream.default(Reply.events(completion_stream(["x"])))
    adapter = adapter_for(upstream.base_url, http)
    for _ in range(5):
        assert (await collect(adapter))[1] is None
    assert upstream.open_connections == 1


async def test_deltas_of_one_read_are_joined_and_those_of_two_are_not(upstream, http):
    gate = Gate()
    first = b"".join(b"data: " + json.dumps(chunk({"content": p})).encode() + b"\n\n" for p in "abc")
    upstream.script(Reply.events([first, gate, *completion_stream(["d"])]))
    deltas = []
    async with asyncio.timeout(WAIT):
        async for event in adapter_for(upstream.base_url, http).stream(request_for()):
            if isinstance(event, TextDeltaEvent):
                deltas.append(event.text)
                gate.open()
    assert deltas == ["abc", "d"]


REFUSED_MAX_TOKENS = {
    "error": {
        "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        "type": "invalid_request_error",
        "param": "max_tokens",
        "code": "unsupported_parameter",
    }
}


@pytest.mark.requirement("chat:max-tokens-refused")
async def test_a_refused_max_tokens_is_renamed_and_the_new_name_is_remembered(upstream, http):
    upstream.script(Reply.json(REFUSED_MAX_TOKENS, 400))
    upstream.default(Reply.events(completion_stream(["x"])))
    adapter = adapter_for(upstream.base_url, http)
    _, replan = await collect(adapter)
    assert isinstance(replan, Replan)
    assert replan.reason == "refused_parameter:max_tokens"
    assert isinstance(replan.error, RequestError)
    events, error = await collect(adapter)
    assert error is None
    assert not any(isinstance(event, WarningEvent) for event in events)
    assert upstream.requests[1].json["max_completion_tokens"] == 8192
    assert "max_tokens" not in upstream.requests[1].json
    await collect(adapter, request_for(model="other-model"))
    assert upstream.requests[2].json["max_tokens"] == 8192


@pytest.mark.requirement("chat:refused-parameter")
async def test_a_refused_parameter_is_dropped_with_a_warning(upstream, http):
    refused = {"error": {"message": "Unrecognized request argument supplied: temperature", "param": None}}
    upstream.script(Reply.json(refused, 400), Reply.events(completion_stream(["x"])))
    adapter = adapter_for(upstream.base_url, http)
    request = request_for(settings={"temperature": 1})
    _, replan = await collect(adapter, request)
    assert replan.reason == "refused_parameter:temperature"
    events, error = await collect(adapter, request)
    assert error is None
    assert events[0].code == "parameter_dropped"
    assert "temperature" not in upstream.requests[1].json


async def test_a_refused_tool_list_is_an_answer_and_not_a_reason_to_drop_it(upstream, http):
    refused = {
        "error": {
            "message": "Unsupported parameter: 'tools'",
            "param": "tools",
            "code": "unsupported_parameter",
        }
    }
    upstream.script(Reply.json(refused, 400))
    tools = (ToolDefinition("f"),)
    _, error = await collect(adapter_for(upstream.base_url, http), request_for(tools=tools))
    assert isinstance(error, RequestError)


@pytest.mark.parametrize(
    ("row", "context"),
    [
        ({"id": "m", "context_length": 1000}, 1000),
        ({"id": "m", "max_model_len": 2000}, 2000),
        ({"id": "m", "meta": {"n_ctx": 3000, "n_ctx_train": 9000}}, 3000),
        ({"id": "m"}, None),
        ({"id": "m", "context_length": "many"}, None),
    ],
)
async def test_context_lengths_are_kept_where_the_server_gives_them(upstream, http, row, context):
    upstream.script(Reply.json({"object": "list", "data": [row, {"no": "id"}, row]}), path="/v1/models")
    adapter = adapter_for(upstream.base_url, http, models=["m", "mine"], default_model="mine")
    assert adapter.max_context_tokens("m") is None
    models = await adapter.list_models()
    assert [(model.id, model.is_default) for model in models] == [("acme:m", False), ("acme:mine", True)]
    assert models[0].max_context_tokens == adapter.max_context_tokens("m") == context


async def test_configured_models_stand_in_for_an_endpoint_that_lists_none(upstream, http):
    upstream.default(Reply.json({"detail": "Not Found"}, 404))
    assert [m.model for m in await adapter_for(upstream.base_url, http, models=["mine"]).list_models()] == [
        "mine"
    ]
    with pytest.raises(RequestError):
        await adapter_for(upstream.base_url, http).list_models()


async def test_a_row_says_more_of_a_model_than_the_provider_does(upstream, http):
    row = {
        "id": "m",
        "name": "Em",
        "architecture": {"input_modalities": ["text"]},
        "supported_parameters": ["tools"],
    }
    upstream.script(Reply.json({"data": [row]}))
    (model,) = await adapter_for(upstream.base_url, http).list_models()
    assert (model.name, model.supports_vision, model.supports_tool_use) == ("Em", False, True)
    assert (model.supports_thinking, model.supports_json) == (False, False)


async def test_the_state_of_the_credential_is_told_without_the_network(http, monkeypatch):
    monkeypatch.delenv("ACME_KEY", raising=False)
    nowhere = "http://127.0.0.1:9"
    assert (await adapter_for(nowhere, http).auth_status()).state == "not_required"
    assert (await adapter_for(nowhere, http, api_key="literal").auth_status()).state == "configured"
    missing = adapter_for(nowhere, http, api_key="env:ACME_KEY")
    status = await missing.auth_status()
    assert status.state == "signed_out"
    assert "ACME_KEY" in status.message
    assert isinstance((await collect(missing))[1], ConfigError)


async def test_a_refresh_tries_the_key(upstream, http):
    upstream.script(Reply.json({"data": []}), Reply.raw(b"", 401), Reply.raw(b"", 403), Reply.raw(b"", 500))
    adapter = adapter_for(upstream.base_url, http, api_key="literal")
    states = [(await adapter.auth_status(refresh=True)).state for _ in range(4)]
    assert states == ["signed_in", "signed_out", "not_authorized", "configured"]


async def test_an_answer_may_be_a_web_page_or_nothing(upstream, http):
    adapter = adapter_for(upstream.base_url, http)
    for reply in (
        Reply.raw(b"<html>log in</html>", content_type="text/html"),
        Reply.raw(b"", content_type="text/event-stream"),
    ):
        upstream.script(reply)
        _, error = await collect(adapter)
        assert isinstance(error, ProtocolError)
        assert "<" not in error.message


async def test_a_stream_with_a_wrong_label_is_read_nevertheless(upstream, http):
    adapter = adapter_for(upstream.base_url, http)
    reply = Reply.events(completion_stream(["Hello"]))
    for headers in ({"content-type": "text/plain"}, {}):
        upstream.script(replace(reply, headers=headers))
        events, error = await collect(adapter)
        assert (error, text_of(events)) == (None, "Hello")


async def test_double_cancels_leave_no_connection_behind(upstream, http):
    upstream.default(Reply.events([chunk({"content": "a"})]).stall_after())
    adapter = adapter_for(upstream.base_url, http)
    for number in range(1, 21):
        task = asyncio.ensure_future(collect(adapter))
        await upstream.wait_for_request(number)
        task.cancel()
        asyncio.get_running_loop().call_soon(task.cancel)
        await asyncio.wait({task}, timeout=WAIT)
        await upstream.wait_for_disconnect(number)
    client = (await http.for_url(upstream.base_url)).http
    assert client._transport._pool.connections == []
