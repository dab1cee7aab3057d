"""The adapter of Ollama servers, against a fake one."""

import asyncio

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.adapters.ollama import FIRST_BYTE_SECONDS, OllamaAdapter
from jumpseat.adapters.ollama_models import MAX_NUM_CTX, read_show
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ChatRequest,
    ConnectionError,
    ContextExceededError,
    Fold,
    ImageBlock,
    Message,
    ProtocolError,
    RateLimitError,
    RequestError,
    ServerError,
    ToolDefinition,
    WarningEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.ollama_chat import call, error, last, lines, part
from jumpseat.testing.upstream import Gate, Reply
from tests.fakes.ollama import FakeModel, FakeOllama
from tests.fakes.refusing import refusing_address

WAIT = 5
HELLO = lines(part("Hel"), part("lo"), last(), x_request_id="req_1")
PICTURE = Message("user", (ImageBlock("QUJD"),))


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
def server(upstream):
    return FakeOllama(upstream)


def adapter_for(base_url, http, **config):
    return OllamaAdapter("acme", ProviderConfig(kind="ollama", base_url=base_url, **config), http)


def request_for(text="Hi", **more):
    return ChatRequest(**{"messages": (Message.user(text),), "model": "qwen3:4b", **more})


async def collect(adapter, request=None):
    """The events, and the error that ended them if one did."""
    events = []
    try:
        async with asyncio.timeout(WAIT):
            async for event in adapter.stream(request or request_for()):
                events.append(event)  # noqa: PERF401 - what came before a failure must not be lost
    except (ChatError, Replan) as failure:
        return events, failure
    return events, None


def response_of(events):
    fold = Fold("acme", "qwen3:4b")
    for event in events:
        fold.add(event)
    return fold.response()


def codes(events):
    return [event.code for event in events if isinstance(event, WarningEvent)]


async def options_sent(server, http, request=None, **config):
    server.script(HELLO)
    events, failure = await collect(adapter_for(server.base_url, http, **config), request)
    assert failure is None
    return server.chats[-1]["options"], codes(events)


async def test_a_streamed_answer_comes_as_events_that_keep_the_laws(server, http, upstream):
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


async def test_an_answer_that_is_not_streamed_gives_the_same_response(server, http):
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


async def test_deltas_are_out_as_soon_as_their_line_is_there(server, http):
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
    await upstream.wait_for_disconnect(2)


@pytest.mark.requirement("ollama:num-ctx", "ollama:show")
@pytest.mark.parametrize(
    ("model", "num_ctx"),
    [
        (FakeModel(), 40_960),
        (FakeModel(context_length=262_144), MAX_NUM_CTX),
        (
            FakeModel(parameters='stop "<|im_end|>"\nnum_ctx                        16384\ntemperature 0.6'),
            16_384,
        ),
        (FakeModel(parameters="num_ctx 131072"), 40_960),
        (FakeModel(context_length=None, parameters="num_ctx 12000"), 12_000),
        (FakeModel(context_length=262_144, parameters="num_ctx 131072"), 131_072),
    ],
)
async def test_the_context_is_what_the_model_can_have_within_reason(server, http, model, num_ctx):
    server.models[:] = [model]
    assert await options_sent(server, http) == ({"num_predict": 8192, "num_ctx": num_ctx}, [])


@pytest.mark.requirement("ollama:num-ctx")
async def test_the_server_is_asked_once_for_a_model(server, http, upstream):
    adapter = adapter_for(server.base_url, http)
    assert adapter.max_context_tokens("qwen3:4b") is None
    for _ in range(3):
        server.script(HELLO)
        await collect(adapter)
    assert [each.path for each in upstream.requests].count("/api/show") == 1
    assert {chat["options"]["num_ctx"] for chat in server.chats} == {40_960}
    assert adapter.max_context_tokens("qwen3:4b") == 40_960


@pytest.mark.requirement("ollama:num-ctx-override")
@pytest.mark.parametrize("parameters", [{"num_ctx": 8192}, {"options": {"num_ctx": 8192}}])
async def test_a_configured_context_is_taken(server, http, parameters):
    sent, _ = await options_sent(server, http, parameters=parameters)
    assert sent["num_ctx"] == 8192
    adapter = adapter_for(server.base_url, http, parameters=parameters)
    assert adapter.max_context_tokens("qwen3:4b") == 8192
    sent, _ = await options_sent(server, http, request_for(settings={"num_ctx": 2048}), parameters=parameters)
    assert sent["num_ctx"] == 2048


@pytest.mark.requirement("ollama:num-ctx-unknown")
@pytest.mark.parametrize(
    "told",
    [
        error("broken", 500),
        Reply.json({"license": "MIT"}),
        Reply.raw(b"404 page not found", 404),
        Reply.json([1]),
        Reply.json({"model_info": {"general.architecture": 7, "x.context_length": "many"}}),
        Reply.raw(b"").close_after(0),
    ],
)
async def test_a_context_that_cannot_be_known_is_told(server, http, upstream, told):
    upstream.script(told, path="/api/show")
    sent, warned = await options_sent(server, http)
    assert "num_ctx" not in sent
    assert warned == ["context_unknown"]
    upstream.script(told, path="/api/show")
    assert await options_sent(server, http, parameters={"num_ctx": 100}) == (
        {"num_predict": 8192, "num_ctx": 100},
        [],
    )


@pytest.mark.requirement("ollama:num-ctx-unknown")
async def test_what_was_not_told_is_asked_again_with_the_next_chat(server, http, upstream):
    upstream.script(error("busy", 503), path="/api/show")
    server.script(HELLO, HELLO)
    adapter = adapter_for(server.base_url, http)
    assert codes((await collect(adapter))[0]) == ["context_unknown"]
    assert codes((await collect(adapter))[0]) == []


@pytest.mark.requirement("ollama:cloud")
async def test_a_model_of_the_cloud_gets_its_whole_context(server, http):
    server.models[:] = [FakeModel(context_length=262_144, remote_host="https://ollama.com:443")]
    sent, _ = await options_sent(server, http)
    assert sent["num_ctx"] == 262_144


@pytest.mark.requirement("ollama:cloud")
async def test_a_key_is_sent_as_bearer_and_only_then(server, http, upstream):
    adapter = adapter_for(server.base_url, http, api_key="key-of-acme")
    server.script(HELLO)
    await collect(adapter)
    assert {each.headers["authorization"] for each in upstream.requests} == {"Bearer key-of-acme"}
    assert (await adapter.auth_status()).state == "configured"
    assert (await adapter.auth_status(refresh=True)).state == "signed_in"
    assert (await adapter_for(server.base_url, http).auth_status(refresh=True)).state == "not_required"


def test_the_cloud_itself_is_remote(http):
    adapter = adapter_for("https://ollama.com", http)
    assert adapter._is_cloud
    assert read_show({"model_info": {"x.context_length": 200_000}}, is_remote=True).num_ctx == 200_000


@pytest.mark.requirement("ollama:think-levels", "ollama:show")
@pytest.mark.parametrize(
    ("model", "think"),
    [
        (FakeModel("gpt-oss:20b", "gptoss"), "high"),
        (FakeModel("mine", "gptoss"), "high"),
        (FakeModel("qwen3:4b", "qwen3"), True),
    ],
)
async def test_the_family_decides_how_thinking_is_asked_for(server, http, model, think):
    server.models[:] = [model]
    server.script(HELLO)
    await collect(adapter_for(server.base_url, http), request_for(model=model.name, thinking="high"))
    assert server.chats[0]["think"] == think


@pytest.mark.requirement("ollama:think-levels")
async def test_gpt_oss_is_known_by_its_name_where_the_server_does_not_say(server, http, upstream):
    upstream.script(error("no", 500), path="/api/show")
    server.models[:] = [FakeModel("gpt-oss:20b", "gptoss")]
    server.script(HELLO)
    events, _ = await collect(
        adapter_for(server.base_url, http), request_for(model="gpt-oss:20b", thinking="off")
    )
    assert server.chats[0]["think"] == "low"
    assert "thinking_adjusted" in codes(events)


@pytest.mark.requirement("ollama:no-thinking")
async def test_a_model_that_does_not_think_is_asked_again_without_and_never_with_again(server, http):
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
async def test_a_server_that_knows_no_levels_is_asked_without(server, http):
    server.script(
        error("json: cannot unmarshal string into Go struct field ChatRequest.think of type bool", 400)
    )
    adapter = adapter_for(server.base_url, http)
    _, failure = await collect(adapter, request_for(thinking="high"))
    assert isinstance(failure, Replan)


async def test_a_refusal_for_another_reason_leaves_thinking_alone(server, http):
    server.models[:] = [FakeModel("qwen3-thinking")]
    server.script(error("qwen3-thinking: invalid option provided", 400))
    request = request_for(model="qwen3-thinking", thinking="high")
    _, failure = await collect(adapter_for(server.base_url, http), request)
    assert type(failure) is RequestError


@pytest.mark.requirement("ollama:no-tools")
async def test_a_model_without_tools_says_so(server, http):
    server.models[:] = [FakeModel(capabilities=("completion",))]
    server.script(HELLO)
    _, failure = await collect(adapter_for(server.base_url, http), request_for(tools=(ToolDefinition("f"),)))
    assert type(failure) is RequestError
    assert "does not support tools" in failure.message
    assert "without tools" in failure.hint


@pytest.mark.requirement("ollama:no-vision")
async def test_images_are_refused_before_the_server_drops_them(server, http):
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
async def test_a_model_that_is_not_there_is_named_with_the_way_to_get_it(server, http):
    events, failure = await collect(adapter_for(server.base_url, http), request_for(model="gemma3:1b"))
    assert events == []
    assert type(failure) is RequestError
    assert failure.message == "The provider acme has no model 'gemma3:1b'."
    assert "`ollama pull gemma3:1b`" in failure.hint
    assert failure.status_code == 404


async def test_another_server_at_this_address_is_told_as_such(http, upstream):
    upstream.default(Reply.raw(b"404 page not found", 404))
    _, failure = await collect(adapter_for(upstream.origin, http))
    assert type(failure) is RequestError
    assert "providers.acme.base_url must end before /api/chat" in failure.hint


@pytest.mark.requirement("ollama:not-running")
async def test_a_server_that_is_not_running_is_told_with_the_way_to_start_it(http):
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
async def test_a_wait_in_vain_for_the_first_byte_is_not_repeated(server, http, upstream):
    assert FIRST_BYTE_SECONDS >= 300
    server.script(lines(part("x")).stall_after(0))
    adapter = adapter_for(server.base_url, http, timeout=0.2)
    _, failure = await collect(adapter)
    assert isinstance(failure, ConnectionError)
    assert not failure.retryable
    assert "providers.acme.timeout" in failure.hint


@pytest.mark.requirement("ollama:context-exceeded")
async def test_a_prompt_that_is_too_long_is_its_own_error(server, http):
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
async def test_a_refusal_is_the_error_that_it_means(server, http, reply, kind):
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
        (lines(part("Hel"), part("lo")).close_after(150), ProtocolError),
    ],
)
async def test_what_came_before_a_failure_stays(server, http, reply, kind):
    server.script(reply)
    events, failure = await collect(adapter_for(server.base_url, http))
    assert isinstance(failure, kind)
    assert_laws(events, ended=False)
    assert [event.text for event in events if event.type == "text_delta"] == ["Hel"]


@pytest.mark.requirement("ollama:tags", "ollama:show")
async def test_models_are_listed_with_what_the_server_says_of_each(server, http, upstream):
    server.models[:] = [
        FakeModel(),
        FakeModel("gpt-oss:20b", "gptoss", 131_072, ("completion", "tools", "thinking")),
        FakeModel("llava:7b", "llama", 32_768, ("completion", "vision")),
        FakeModel("nomic-embed-text:latest", "nomic-bert", 2048, ("embedding",)),
    ]
    adapter = adapter_for(server.base_url, http, models=["extra", "qwen3:4b"], default_model="llava:7b")
    models = {model.model: model for model in await adapter.list_models()}
    assert list(models) == ["qwen3:4b", "gpt-oss:20b", "llava:7b", "nomic-embed-text:latest", "extra"]
    qwen = models["qwen3:4b"]
    assert (qwen.family, qwen.version, qwen.max_context_tokens) == ("qwen3", "359d7dd4bcda", 40_960)
    assert (qwen.supports_tool_use, qwen.supports_thinking, qwen.supports_vision) == (True, True, False)
    assert qwen.thinking_levels is None
    assert models["gpt-oss:20b"].thinking_levels == ("low", "medium", "high")
    assert models["gpt-oss:20b"].max_context_tokens == MAX_NUM_CTX
    assert models["llava:7b"].supports_vision
    assert models["llava:7b"].is_default
    assert not models["llava:7b"].supports_tool_use
    assert [name for name, model in models.items() if not model.picker_enabled] == ["nomic-embed-text:latest"]
    assert adapter.max_context_tokens("llava:7b") == 32_768


@pytest.mark.requirement("ollama:tags")
async def test_one_model_that_cannot_be_shown_hides_nothing(server, http, upstream):
    server.models[:] = [FakeModel("a"), FakeModel("b"), FakeModel("c")]
    upstream.script(error("corrupt", 500), path="/api/show")
    models = await adapter_for(server.base_url, http).list_models()
    assert [model.model for model in models] == ["a", "b", "c"]
    assert [model.max_context_tokens for model in models].count(None) == 1
    assert all(model.family == "qwen3" for model in models)
    assert [model.supports_tool_use for model in models].count(None) == 1


@pytest.mark.requirement("ollama:tags")
async def test_a_list_in_an_unknown_shape_is_a_protocol_error_and_an_empty_one_is_none(http, upstream):
    adapter = adapter_for(upstream.origin, http)
    upstream.script(Reply.json({"models": None}), Reply.json({"data": []}), path="/api/tags")
    assert await adapter.list_models() == []
    with pytest.raises(ProtocolError):
        await adapter.list_models()


@pytest.mark.parametrize("strange", [None, [], {"capabilities": [], "details": None, "model_info": None}])
def test_what_a_server_does_not_say_stays_unknown(strange):
    facts = read_show(strange)
    assert (facts.num_ctx, facts.capabilities, facts.family) == (None, None, None)


def test_a_length_under_another_architecture_is_found():
    info = {
        "general.architecture": "clip",
        "llama.rope.original_context_length": 1,
        "llama.context_length": 8192,
    }
    assert read_show({"model_info": info}).context_length == 8192
