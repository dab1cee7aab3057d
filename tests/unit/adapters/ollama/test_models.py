"""The facts of Ollama models: context length, thinking and the row in the list."""

import pytest

from jumpseat.adapters.ollama.models import MAX_NUM_CTX, read_show
from jumpseat.chat import ProtocolError
from jumpseat.testing.answers.ollama_chat import error
from jumpseat.testing.upstream import Reply
from tests.fakes.ollama import FakeModel
from tests.unit.adapters.ollama_chats import HELLO, adapter_for, collect, request_for
from tests.unit.adapters.streams import codes


async def send_and_read_options(server, http, request=None, **config):
    server.script(HELLO)
    events, failure = await collect(adapter_for(server.base_url, http, **config), request)
    assert failure is None
    return server.chats[-1]["options"], codes(events)


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
async def test_the_context_length_of_the_model_is_requested_up_to_a_limit(server, http, model, num_ctx):
    server.models[:] = [model]
    assert await send_and_read_options(server, http) == ({"num_predict": 8192, "num_ctx": num_ctx}, [])


@pytest.mark.requirement("ollama:num-ctx")
async def test_the_facts_of_a_model_are_fetched_once(server, http, upstream):
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
async def test_a_configured_context_takes_precedence(server, http, parameters):
    sent, _ = await send_and_read_options(server, http, parameters=parameters)
    assert sent["num_ctx"] == 8192
    adapter = adapter_for(server.base_url, http, parameters=parameters)
    assert adapter.max_context_tokens("qwen3:4b") == 8192
    sent, _ = await send_and_read_options(
        server, http, request_for(settings={"num_ctx": 2048}), parameters=parameters
    )
    assert sent["num_ctx"] == 2048


@pytest.mark.requirement("ollama:num-ctx-unknown")
@pytest.mark.parametrize(
    "answer",
    [
        error("broken", 500),
        Reply.json({"license": "MIT"}),
        Reply.raw(b"404 page not found", 404),
        Reply.json([1]),
        Reply.json({"model_info": {"general.architecture": 7, "x.context_length": "many"}}),
        Reply.raw(b"").close_after(0),
    ],
)
async def test_an_unknown_context_is_a_warning(server, http, upstream, answer):
    upstream.script(answer, path="/api/show")
    sent, warned = await send_and_read_options(server, http)
    assert "num_ctx" not in sent
    assert warned == ["context_unknown"]
    upstream.script(answer, path="/api/show")
    assert await send_and_read_options(server, http, parameters={"num_ctx": 100}) == (
        {"num_predict": 8192, "num_ctx": 100},
        [],
    )


@pytest.mark.requirement("ollama:num-ctx-unknown")
async def test_facts_that_could_not_be_fetched_are_requested_again_with_the_next_chat(server, http, upstream):
    upstream.script(error("busy", 503), path="/api/show")
    server.script(HELLO, HELLO)
    adapter = adapter_for(server.base_url, http)
    assert codes((await collect(adapter))[0]) == ["context_unknown"]
    assert codes((await collect(adapter))[0]) == []


@pytest.mark.requirement("ollama:cloud")
async def test_a_cloud_model_gets_its_whole_context(server, http):
    server.models[:] = [FakeModel(context_length=262_144, remote_host="https://ollama.com:443")]
    sent, _ = await send_and_read_options(server, http)
    assert sent["num_ctx"] == 262_144


def test_the_traits_of_the_class_survive_the_constructor(http):
    traits = adapter_for("http://127.0.0.1:9", http).traits
    assert (traits.user_begins, traits.context_setting) == (False, "num_ctx")


def test_ollamas_cloud_host_is_remote(http):
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
async def test_the_family_decides_the_form_of_thinking(server, http, model, think):
    server.models[:] = [model]
    server.script(HELLO)
    await collect(adapter_for(server.base_url, http), request_for(model=model.name, thinking="high"))
    assert server.chats[0]["think"] == think


@pytest.mark.requirement("2:max-tokens")
@pytest.mark.parametrize(("answer_tokens", "limit"), [(8192, 16_384), (None, 8192)])
async def test_a_default_limit_has_room_for_thinking_if_the_server_reports_thinking(
    server, http, answer_tokens, limit
):
    server.models[:] = [FakeModel("qwen3:4b", "qwen3", capabilities=("completion", "thinking"))]
    server.script(HELLO)
    request = request_for(model="qwen3:4b", answer_tokens=answer_tokens)
    await collect(adapter_for(server.base_url, http), request)
    assert server.chats[0]["options"]["num_predict"] == limit


@pytest.mark.requirement("2:thinking-levels")
@pytest.mark.parametrize(("level", "think"), [("minimal", "low"), ("max", "high")])
async def test_gpt_oss_gets_the_nearest_of_its_levels(server, http, level, think):
    server.models[:] = [FakeModel("gpt-oss:20b", "gptoss")]
    server.script(HELLO)
    request = request_for(model="gpt-oss:20b", thinking=level)
    events, _ = await collect(adapter_for(server.base_url, http), request)
    assert server.chats[0]["think"] == think
    assert codes(events) == ["thinking_adjusted"]


@pytest.mark.requirement("ollama:think-levels")
async def test_gpt_oss_is_recognised_by_name_if_the_server_does_not_report_its_family(server, http, upstream):
    upstream.script(error("no", 500), path="/api/show")
    server.models[:] = [FakeModel("gpt-oss:20b", "gptoss")]
    server.script(HELLO)
    events, _ = await collect(
        adapter_for(server.base_url, http), request_for(model="gpt-oss:20b", thinking="off")
    )
    assert server.chats[0]["think"] == "low"
    assert "thinking_adjusted" in codes(events)


@pytest.mark.requirement("ollama:tags", "ollama:show")
async def test_models_are_listed_with_the_servers_facts(server, http, upstream):
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
async def test_a_failed_lookup_of_one_model_keeps_all_rows(server, http, upstream):
    server.models[:] = [FakeModel("a"), FakeModel("b"), FakeModel("c")]
    upstream.script(error("corrupt", 500), path="/api/show")
    models = await adapter_for(server.base_url, http).list_models()
    assert [model.model for model in models] == ["a", "b", "c"]
    assert [model.max_context_tokens for model in models].count(None) == 1
    assert all(model.family == "qwen3" for model in models)
    assert [model.supports_tool_use for model in models].count(None) == 1


@pytest.mark.requirement("ollama:tags")
async def test_a_null_list_is_empty_and_a_list_of_another_shape_is_a_protocol_error(http, upstream):
    adapter = adapter_for(upstream.origin, http)
    upstream.script(Reply.json({"models": None}), Reply.json({"data": []}), path="/api/tags")
    assert await adapter.list_models() == []
    with pytest.raises(ProtocolError):
        await adapter.list_models()


@pytest.mark.parametrize("strange", [None, [], {"capabilities": [], "details": None, "model_info": None}])
def test_missing_facts_are_unknown(strange):
    facts = read_show(strange)
    assert (facts.num_ctx, facts.capabilities, facts.family) == (None, None, None)


def test_a_length_under_another_architecture_is_found():
    info = {
        "general.architecture": "clip",
        "llama.rope.original_context_length": 1,
        "llama.context_length": 8192,
    }
    assert read_show({"model_info": info}).context_length == 8192
