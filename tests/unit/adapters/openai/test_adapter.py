"""The adapter of OpenAI-compatible providers, against a scripted server."""

from dataclasses import replace

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.chat import (
    AuthenticationError,
    ConfigError,
    Fold,
    ProtocolError,
    RequestError,
    ResponseEvent,
    ToolDefinition,
    UnknownModelError,
    WarningEvent,
)
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.chat_completions import FakeCall, completion_body, completion_stream
from jumpseat.testing.upstream import Reply
from tests.unit.adapters.openai_chats import adapter_for, collect, request_for, text_of


@pytest.mark.requirement("chat:request")
async def test_the_events_of_a_streamed_answer_obey_the_rules_of_events(upstream, http):
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


async def test_an_unstreamed_answer_gives_the_same_response(upstream, http):
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


async def test_a_wrong_key_is_an_authentication_error_that_names_the_keys_source(upstream, http):
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
    assert type(error) is UnknownModelError
    assert "'fake-model'" in error.message
    assert "acme" in error.message


async def test_an_unrelated_404_is_not_an_unknown_model(upstream, http):
    upstream.script(Reply.json({"detail": "Not Found"}, 404))
    _, error = await collect(adapter_for(upstream.base_url, http))
    assert error.message == "acme refused the request (HTTP 404): Not Found."


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


async def test_a_refused_tool_list_is_an_error_and_is_not_dropped(upstream, http):
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
async def test_context_lengths_that_the_server_lists_are_kept(upstream, http, row, context):
    upstream.script(Reply.json({"object": "list", "data": [row, {"no": "id"}, row]}), path="/v1/models")
    adapter = adapter_for(upstream.base_url, http, models=["m", "mine"], default_model="mine")
    assert adapter.max_context_tokens("m") is None
    models = await adapter.list_models()
    assert [(model.id, model.is_default) for model in models] == [("acme:m", False), ("acme:mine", True)]
    assert models[0].max_context_tokens == adapter.max_context_tokens("m") == context


async def test_configured_models_are_listed_if_the_endpoint_has_no_list(upstream, http):
    upstream.default(Reply.json({"detail": "Not Found"}, 404))
    assert [m.model for m in await adapter_for(upstream.base_url, http, models=["mine"]).list_models()] == [
        "mine"
    ]
    with pytest.raises(RequestError):
        await adapter_for(upstream.base_url, http).list_models()


async def test_a_models_row_overrides_the_providers_capabilities(upstream, http):
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


async def test_the_state_of_the_credential_is_known_without_a_request(http, monkeypatch):
    monkeypatch.delenv("ACME_KEY", raising=False)
    nowhere = "http://127.0.0.1:9"
    assert (await adapter_for(nowhere, http).account.auth_status()).state == "not_required"
    assert (await adapter_for(nowhere, http, api_key="literal").account.auth_status()).state == "configured"
    missing = adapter_for(nowhere, http, api_key="env:ACME_KEY")
    status = await missing.account.auth_status()
    assert status.state == "signed_out"
    assert "ACME_KEY" in status.message
    assert isinstance((await collect(missing))[1], ConfigError)


async def test_a_refresh_checks_the_key_with_a_request(upstream, http):
    upstream.script(Reply.json({"data": []}), Reply.raw(b"", 401), Reply.raw(b"", 403), Reply.raw(b"", 500))
    adapter = adapter_for(upstream.base_url, http, api_key="literal")
    states = [(await adapter.account.auth_status(refresh=True)).state for _ in range(4)]
    assert states == ["signed_in", "signed_out", "not_authorized", "configured"]


async def test_a_web_page_or_an_empty_body_is_reported(upstream, http):
    adapter = adapter_for(upstream.base_url, http)
    for reply in (
        Reply.raw(b"<html>log in</html>", content_type="text/html"),
        Reply.raw(b"", content_type="text/event-stream"),
    ):
        upstream.script(reply)
        _, error = await collect(adapter)
        assert isinstance(error, ProtocolError)
        assert "<" not in error.message


async def test_a_stream_with_a_wrong_content_type_is_still_read(upstream, http):
    adapter = adapter_for(upstream.base_url, http)
    reply = Reply.events(completion_stream(["Hello"]))
    for headers in ({"content-type": "text/plain"}, {}):
        upstream.script(replace(reply, headers=headers))
        events, error = await collect(adapter)
        assert (error, text_of(events)) == (None, "Hello")
