"""The adapter of providers with OpenAI's Responses API, against a scripted server."""

import asyncio
import json

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.adapters.openai.responses import OpenAIResponsesAdapter
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    Fold,
    Message,
    ProtocolError,
    RequestError,
    ResponseEvent,
    TextDeltaEvent,
    ThinkingBlock,
    ToolDefinition,
    UnknownModelError,
    WarningEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.dialects.responses import ResponsesDecoder
from jumpseat.http import HttpClient
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.responses import function_call, message, reasoning, response, response_stream
from jumpseat.testing.upstream import Reply
from tests.unit.http.echo import wait_for_tails

WAIT = 30

HI = Reply.events(response_stream(message("Hi")))
ITEMS = (
    reasoning("Hm.", encrypted="gAAA"),
    message("Look: ", phase="commentary"),
    function_call("call_1", "weather", '{"city": ', '"Rome"}'),
)


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
def adapter(upstream, http):
    return adapter_for(upstream.base_url, http)


def adapter_for(base_url, http, **config):
    return OpenAIResponsesAdapter(
        "acme", ProviderConfig(kind="openai-responses", base_url=base_url, **config), http
    )


def request_for(text="Hi", **more):
    return ChatRequest(**{"messages": (Message.user(text),), "model": "fake-model", **more})


async def collect(adapter, request=None):
    """Return the events, and the error that ended them, if any."""
    events = []
    try:
        async with asyncio.timeout(WAIT):
            async for event in adapter.stream(request or request_for()):
                events.append(event)  # noqa: PERF401 - keeps the events before a failure
    except (ChatError, Replan) as error:
        return events, error
    return events, None


def response_of(events):
    fold = Fold("acme", "fake-model")
    for event in events:
        fold.add(event)
    return fold.response()


def warnings_in(events):
    return [event.code for event in events if isinstance(event, WarningEvent)]


def refusal(text, status=400, **more):
    return Reply.json({"error": {"message": text, "type": "invalid_request_error", **more}}, status)


async def test_the_events_of_a_streamed_answer_obey_the_rules_of_events(upstream, http):
    upstream.script(Reply.events(response_stream(message("Hel", "lo")), x_request_id="req_1"))
    adapter = adapter_for(upstream.base_url, http, api_key="key-of-acme", headers={"X-Tenant": "seven"})
    events, error = await collect(adapter)
    assert error is None
    assert_laws(events)
    assert response_of(events).text == "Hello"
    started = next(event for event in events if isinstance(event, ResponseEvent))
    assert (started.model, started.provider_request_id) == ("fake-model", "req_1")
    sent = upstream.requests[0]
    assert (sent.method, sent.path) == ("POST", "/v1/responses")
    assert (sent.headers["authorization"], sent.headers["x-tenant"]) == ("Bearer key-of-acme", "seven")
    assert len(sent.headers["x-request-id"]) == 32
    assert sent.json == {
        "model": "fake-model",
        "input": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 8192,
    }


@pytest.mark.requirement("responses:obfuscation-off")
def test_only_openais_endpoint_is_asked_not_to_pad_events(http):
    own = OpenAIResponsesAdapter("acme", ProviderConfig(kind="openai-responses"), http)
    other = adapter_for("http://127.0.0.1:9/v1", http)
    request = ChatRequest(messages=[Message.user("Hi")], model="m")
    assert own._route.prepare(request).body["stream_options"] == {"include_obfuscation": False}
    assert "stream_options" not in other._route.prepare(request).body


@pytest.mark.requirement("responses:whole-body")
async def test_an_unstreamed_answer_gives_the_same_response(upstream, adapter):
    upstream.script(Reply.events(response_stream(*ITEMS)), Reply.json(response(ITEMS)))
    responses = []
    for stream in (True, False):
        events, error = await collect(adapter, request_for(stream=stream))
        assert error is None
        assert_laws(events)
        responses.append(response_of(events))
    assert responses[0] == responses[1]
    assert [block.type for block in responses[0].content] == ["thinking", "text", "tool_use"]
    assert responses[0].stop_reason == "tool_use"


@pytest.mark.requirement("responses:no-stop", "responses:sampling")
async def test_unsupported_parameters_are_dropped_with_warnings(upstream, adapter):
    upstream.script(HI)
    request = request_for(
        model="o3", stop_sequences=("END",), thinking="off", settings={"temperature": 1, "verbosity": 1}
    )
    events, error = await collect(adapter, request)
    assert error is None
    assert warnings_in(events) == ["parameter_dropped", "parameter_dropped", "thinking_adjusted"]
    sent = upstream.requests[0].json
    assert sent.keys().isdisjoint({"stop", "temperature"})
    assert sent["reasoning"] == {"effort": "low"}
    assert sent["verbosity"] == 1


@pytest.mark.requirement("2:thinking-levels")
async def test_a_refused_effort_is_replaced_by_one_that_the_refusal_lists(upstream, adapter):
    words = "Unsupported value: 'low'. Supported values are: 'medium' and 'high'."
    upstream.script(refusal(words, param="reasoning.effort"))
    upstream.default(HI)
    request = request_for(model="gpt-5-new", thinking="low")
    _, replan = await collect(adapter, request)
    assert replan.reason == "refused_effort:low"
    events, error = await collect(adapter, request)
    assert (error, warnings_in(events)) == (None, ["thinking_adjusted"])
    assert upstream.requests[1].json["reasoning"]["effort"] == "medium"


@pytest.mark.requirement("responses:refused-parameter")
async def test_a_refused_parameter_is_dropped_for_that_model_from_then_on(upstream, adapter):
    words = "Unsupported parameter: 'temperature' is not supported with this model."
    upstream.script(refusal(words, param="temperature"))
    upstream.default(HI)
    request = request_for(settings={"temperature": 1})
    _, replan = await collect(adapter, request)
    assert replan.reason == "refused_parameter:temperature"
    assert isinstance(replan.error, RequestError)
    for number in (1, 2):
        events, error = await collect(adapter, request)
        assert (error, warnings_in(events)) == (None, ["parameter_dropped"])
        assert "temperature" not in upstream.requests[number].json
    await collect(adapter, request_for(model="other-model", settings={"temperature": 1}))
    assert upstream.requests[3].json["temperature"] == 1


@pytest.mark.requirement("responses:refused-parameter")
async def test_only_the_refused_member_of_a_parameter_is_dropped(upstream, adapter):
    words = "Your organization must be verified to generate reasoning summaries."
    upstream.script(refusal(words, param="reasoning.summary", code="unsupported_value"), HI)
    request = request_for(thinking="low")
    _, replan = await collect(adapter, request)
    assert replan.reason == "refused_parameter:reasoning.summary"
    events, error = await collect(adapter, request)
    assert (error, warnings_in(events)) == (None, [])
    assert upstream.requests[1].json["reasoning"] == {"effort": "low"}


@pytest.mark.requirement("responses:refused-parameter")
async def test_thinking_that_a_gateway_does_not_support_is_dropped_with_a_warning(upstream, adapter):
    words = (
        "litellm.UnsupportedParamsError: acme does not support parameters: ['reasoning_effort'], for model=m."
    )
    upstream.script(refusal(words, param=None, code="400"), HI)
    request = request_for(thinking="low")
    assert (await collect(adapter, request))[1].reason == "refused_parameter:reasoning"
    events, error = await collect(adapter, request)
    assert (error, warnings_in(events)) == (None, ["thinking_dropped"])
    assert "reasoning" not in upstream.requests[1].json


@pytest.mark.requirement("responses:refused-include")
async def test_refused_encrypted_content_is_not_requested_again(upstream, adapter):
    upstream.script(refusal("Encrypted content is not supported with this model."), HI)
    _, replan = await collect(adapter)
    assert replan.reason == "refused_parameter:include"
    events, error = await collect(adapter)
    assert (error, warnings_in(events)) == (None, [])
    assert "include" not in upstream.requests[1].json


@pytest.mark.requirement("responses:refused-include")
async def test_a_refused_include_that_was_configured_is_dropped_with_a_warning(upstream, http):
    table = ProviderConfig(base_url=upstream.base_url, parameters={"include": ["web_search_call.results"]})
    adapter = OpenAIResponsesAdapter("acme", table, http)
    upstream.script(refusal("Encrypted content is not supported with this model."), HI)
    await collect(adapter)
    events, error = await collect(adapter)
    assert (error, warnings_in(events)) == (None, ["parameter_dropped"])


@pytest.mark.parametrize("param", ["tools", "text.format", "text", "input"])
async def test_a_refused_essential_parameter_is_an_error(upstream, adapter, param):
    upstream.script(refusal("Unsupported parameter", param=param, code="unsupported_parameter"))
    request = request_for(tools=(ToolDefinition("f"),), output_mode="json")
    assert isinstance((await collect(adapter, request))[1], RequestError)


@pytest.mark.requirement("responses:foreign-encrypted")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("The encrypted content gAAA could not be verified.", "invalid_encrypted_content"),
        ("Encrypted content could not be decrypted or parsed.", None),
        ("encrypted_content: extra inputs are not permitted", None),
        ("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", None),
        ("Item 'fc_1' was provided without its required 'reasoning' item: 'rs_1'.", None),
    ],
)
async def test_encrypted_content_of_another_origin_is_dropped_with_a_warning(upstream, adapter, words, code):
    upstream.script(Reply.events(response_stream(*ITEMS)), refusal(words, code=code), HI)
    first, _ = await collect(adapter)
    messages = (Message.user("Hi"), response_of(first).as_message(), Message.user("Go on"))
    events, replan = await collect(adapter, request_for(messages=messages))
    assert events == []
    assert (replan.reason, replan.warning.code) == ("foreign_encrypted_content", "foreign_data_dropped")
    assert not any(isinstance(b, ThinkingBlock) for m in replan.request.messages for b in m.content)
    _, error = await collect(adapter, replan.request)
    assert error is None
    types = [[item.get("type") for item in sent.json["input"]] for sent in upstream.requests[1:]]
    assert types[0] == [None, "reasoning", "message", "function_call", None]
    assert types[1] == [None, "message", "function_call", None]


@pytest.mark.requirement("responses:foreign-encrypted")
async def test_a_conversation_without_encrypted_content_is_not_replanned(upstream, adapter):
    upstream.script(refusal("The encrypted content could not be verified.", code="invalid_encrypted_content"))
    assert isinstance((await collect(adapter))[1], RequestError)


UNFOLLOWED = (message("OK"), reasoning(encrypted="gAAA", item_id="rs_2"))
"""The items of an answer that ends with reasoning, without an item that follows it."""


def conversation_with(*output):
    """Return a conversation whose assistant message is an answer with these items."""
    earlier = ResponsesDecoder("acme", "fake-model").feed_body(json.dumps(response(output)).encode())
    return (Message.user("Hi"), response_of(earlier).as_message(), Message.user("Go on"))


def list_sent_types(upstream):
    return [[item.get("type") for item in each.json["input"]] for each in upstream.requests]


@pytest.mark.requirement("responses:unfollowed-reasoning")
async def test_refused_trailing_reasoning_is_dropped_with_a_warning(upstream, adapter):
    words = "Item 'rs_2' of type 'reasoning' was provided without its required following item."
    upstream.script(refusal(words))
    upstream.default(HI)
    request = request_for(messages=conversation_with(*ITEMS[:1], *UNFOLLOWED))
    events, replan = await collect(adapter, request)
    assert (replan.reason, warnings_in(events)) == ("unfollowed_reasoning", [])
    for _ in range(2):
        events, error = await collect(adapter, request)
        assert (error, warnings_in(events)) == (None, ["unfinished_dropped"])
    assert list_sent_types(upstream) == [
        [None, "reasoning", "message", "reasoning", None],
        [None, "reasoning", "message", None],
        [None, "reasoning", "message", None],
    ]


@pytest.mark.requirement("responses:unfollowed-reasoning")
def test_trailing_reasoning_is_not_sent_to_openais_endpoint(http):
    own = OpenAIResponsesAdapter("acme", ProviderConfig(kind="openai-responses"), http)
    prepared = own._route.prepare(request_for(messages=conversation_with(*UNFOLLOWED)))
    assert [item.get("type") for item in prepared.body["input"]] == [None, "message", None]
    assert [warning.code for warning in prepared.warnings] == ["unfinished_dropped"]


async def test_an_unknown_model_names_model_and_provider(upstream, adapter):
    upstream.script(refusal("The model `fake-model` does not exist", 404, code="model_not_found"))
    _, error = await collect(adapter)
    assert isinstance(error, UnknownModelError)
    words = "The model `fake-model` does not exist."
    assert error.message == f"The provider acme has no model 'fake-model': {words}"


async def test_closing_the_iterator_closes_the_upstream_connection(upstream, adapter):
    upstream.script(Reply.events(response_stream(message("a"))[:5]).stall_after())
    events = adapter.stream(request_for())
    async with asyncio.timeout(WAIT):
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                break
        assert not upstream.requests[0].disconnected.is_set()
        await events.aclose()
    await upstream.wait_for_disconnect()


@pytest.mark.requirement("responses:no-terminal")
async def test_a_truncated_answer_is_a_protocol_error(upstream, adapter):
    upstream.script(Reply.events(response_stream(message("Hello"), end=None)))
    events, error = await collect(adapter)
    assert isinstance(error, ProtocolError)
    assert error.message == "acme ended its answer early."
    assert [event.text for event in events if isinstance(event, TextDeltaEvent)] == ["Hello"]


async def test_the_last_event_ends_the_answer_while_the_socket_is_open(upstream, adapter):
    upstream.script(Reply.events(response_stream(message("x"))).stall_after())
    events, error = await collect(adapter)
    assert error is None
    assert_laws(events)
    await upstream.wait_for_disconnect()


async def test_a_finished_answer_leaves_its_connection_for_reuse(upstream, adapter):
    upstream.default(HI)
    for _ in range(5):
        assert (await collect(adapter))[1] is None
        await wait_for_tails(adapter._http)
    assert upstream.open_connections == 1


async def test_models_and_credentials_work_as_at_any_endpoint(upstream, http):
    upstream.script(Reply.json({"data": [{"id": "m"}]}), Reply.raw(b"", 401), path="/v1/models")
    adapter = adapter_for(upstream.base_url, http, api_key="key-of-acme", models=["mine"])
    assert [model.id for model in await adapter.list_models()] == ["acme:m", "acme:mine"]
    assert (await adapter.account.auth_status()).state == "configured"
    assert (await adapter.account.auth_status(refresh=True)).state == "signed_out"
