"""The adapter's knowledge of an endpoint, initially and after a refusal."""

import asyncio
import re

import pytest

from jumpseat.adapters.anthropic.adapter import AnthropicAdapter
from jumpseat.adapters.base import Replan
from jumpseat.adapters.openai.adapter import OpenAIAdapter
from jumpseat.adapters.openai.responses import OpenAIResponsesAdapter
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    Message,
    NamedTool,
    RequestError,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    WarningEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply

WAIT = 30
TOOL_ROUND = (
    Message.user("Go"),
    Message("assistant", (ToolUseBlock("call_1", "f", {}, "{}"),)),
    Message("user", (ToolResultBlock("call_1", "x"),)),
)


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def upstream():
    async with FakeUpstream() as server:
        server.default(Reply.events(completion_stream(["x"])))
        yield server


def adapter_for(base_url, http, **config):
    return OpenAIAdapter("acme", ProviderConfig(kind="openai", base_url=base_url, **config), http)


async def ask(adapter, **request):
    """Return the warnings, and the error that ended the attempt, if any."""
    warnings = []
    request = ChatRequest(**{"messages": (Message.user("Hi"),), "model": "fake-model", **request})
    try:
        async with asyncio.timeout(WAIT):
            async for event in adapter.stream(request):
                if isinstance(event, WarningEvent):
                    warnings.append(event)  # noqa: PERF401 - keeps the events before a failure
    except (ChatError, Replan) as error:
        return warnings, error
    return warnings, None


def refusal(message, **more):
    return Reply.json({"error": {"message": message, "type": "invalid_request_error", **more}}, 400)


@pytest.mark.requirement("chat:max-tokens-field")
@pytest.mark.parametrize(
    ("base_url", "model", "field"),
    [
        (None, "gpt-4o", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "gpt-4o", "max_completion_tokens"),
        ("https://api.mistral.ai/v1", "mistral-small", "max_tokens"),
        ("https://openrouter.ai/api/v1", "openai/o3", "max_tokens"),
        ("https://acme.example/v1", "gpt-4o", "max_tokens"),
        ("https://acme.example/v1", "gpt-5-mini", "max_completion_tokens"),
        ("https://acme.example/v1", "o3", "max_completion_tokens"),
        ("https://notopenai.com/v1", "m", "max_tokens"),
    ],
)
async def test_endpoint_and_model_decide_the_name_of_max_tokens(http, base_url, model, field):
    assert adapter_for(base_url, http)._facts_of(model).max_tokens_field == field


@pytest.mark.requirement("chat:sampling-while-reasoning", "chat:stop-while-reasoning")
async def test_sampling_parameters_are_dropped_for_a_reasoning_model_with_warnings(upstream, http):
    adapter = adapter_for(upstream.base_url, http, parameters={"top_p": 0.5, "seed": 1})
    warnings, error = await ask(adapter, model="o3", settings={"temperature": 0.2}, stop_sequences=("END",))
    assert error is None
    assert [warning.code for warning in warnings] == ["parameter_dropped"] * 3
    messages = " ".join(warning.message for warning in warnings)
    assert all(f"'{name}'" in messages for name in ("stop", "temperature", "top_p"))
    assert "o3" in messages
    sent = upstream.requests[0].json
    assert not {"temperature", "top_p", "stop"} & sent.keys()
    assert (sent["seed"], sent["max_completion_tokens"]) == (1, 8192)


@pytest.mark.requirement("chat:effort-none")
async def test_a_model_that_always_reasons_gets_its_lowest_effort_for_off(upstream, http):
    adapter = adapter_for(upstream.base_url, http)
    warnings, _ = await ask(adapter, model="o3", thinking="off")
    assert [warning.code for warning in warnings] == ["thinking_adjusted"]
    assert upstream.requests[0].json["reasoning_effort"] == "low"
    warnings, _ = await ask(adapter, model="gpt-5.1", thinking="off", settings={"temperature": 0})
    assert warnings == []
    assert (upstream.requests[1].json["reasoning_effort"], upstream.requests[1].json["temperature"]) == (
        "none",
        0,
    )


@pytest.mark.requirement("2:thinking-levels")
@pytest.mark.parametrize(
    ("words", "sent", "then"),
    [
        ("Unsupported value: 'max'. Supported values are: 'minimal' and 'low'.", ["xhigh", "low"], "minimal"),
        ("'xhigh' is not supported with this model.", ["xhigh", "high"], "low"),
    ],
)
async def test_a_refused_effort_is_replaced_by_the_nearest_from_then_on(upstream, http, words, sent, then):
    upstream.script(refusal(words, param="reasoning_effort", code="unsupported_value"))
    adapter = adapter_for(upstream.base_url, http)
    _, replan = await ask(adapter, model="gpt-5.4", thinking="max")
    assert replan.reason == "refused_effort:xhigh"
    warnings, error = await ask(adapter, model="gpt-5.4", thinking="max")
    assert ([each.code for each in warnings], error) == (["thinking_adjusted"], None)
    assert [each.json["reasoning_effort"] for each in upstream.requests] == sent
    await ask(adapter, model="gpt-5.4", thinking="minimal")
    assert upstream.requests[2].json["reasoning_effort"] == then


@pytest.mark.requirement("chat:include-usage")
async def test_an_endpoint_that_refuses_stream_options_is_asked_without_them(upstream, http):
    upstream.script(refusal("Unrecognized request argument supplied: stream_options"))
    adapter = adapter_for(upstream.base_url, http)
    _, replan = await ask(adapter)
    assert replan.reason == "refused_parameter:stream_options"
    assert (await ask(adapter))[1] is None
    assert "stream_options" not in upstream.requests[1].json
    assert upstream.requests[1].json["stream"] is True


@pytest.mark.requirement("chat:range-error")
async def test_a_value_out_of_range_is_an_error_that_names_it_and_is_not_dropped(upstream, http):
    words = "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead."
    upstream.script(refusal(words, param="temperature", code="decimal_above_max_value"))
    _, error = await ask(adapter_for(upstream.base_url, http), settings={"temperature": 3})
    assert type(error) is RequestError
    assert "'temperature'" in error.message
    assert error.provider_code == "decimal_above_max_value"


async def ask_after_refusal(upstream, http, reply, reason, **request):
    """Send four requests, of which the first and the last are refused with `reply`; return their `messages`.

    The adapter must propose a replan after the first refusal, and report the second one.
    """
    upstream.script(reply)
    adapter = adapter_for(upstream.base_url, http)
    _, replan = await ask(adapter, **request)
    assert isinstance(replan, Replan)
    assert replan.reason == reason
    assert isinstance(replan.error, RequestError)
    for _ in range(2):
        assert await ask(adapter, **request) == ([], None)
    upstream.script(reply)
    _, error = await ask(adapter, **request)
    assert type(error) is RequestError, "the adapter proposed the same replan twice"
    return [each.json["messages"] for each in upstream.requests]


@pytest.mark.requirement("chat:nine-character-ids")
async def test_the_form_of_tool_ids_is_learned_from_a_refusal(upstream, http):
    words = "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."
    reply = Reply.json({"object": "error", "message": words, "type": "x", "code": "3280"}, 400)
    first, second, third, _ = await ask_after_refusal(
        upstream, http, reply, "tool_call_ids", messages=TOOL_ROUND
    )
    assert first[2]["tool_call_id"] == "call_1"
    assert re.fullmatch("[a-zA-Z0-9]{9}", second[2]["tool_call_id"])
    assert second == third


@pytest.mark.requirement("2:text-parts")
@pytest.mark.parametrize(
    "words",
    [
        "Failed to deserialize the JSON body: messages[0]: invalid type: sequence, expected a string",
        "messages.0.content: Input should be a valid string",
    ],
)
async def test_texts_are_joined_for_an_endpoint_that_refuses_parts(upstream, http, words):
    message = Message("user", (TextBlock("One."), TextBlock("Two.")))
    reply = Reply.json({"error": {"message": words}}, 400)
    first, second, third, _ = await ask_after_refusal(
        upstream, http, reply, "text_parts", messages=(message,)
    )
    assert [part["text"] for part in first[0]["content"]] == ["One.", "Two."]
    assert second == third == [{"role": "user", "content": "One.\n\nTwo."}]


@pytest.mark.requirement("14:openai")
async def test_completions_at_mistral_have_a_path_of_their_own(http):
    urls = ("https://api.mistral.ai/v1", "https://a.test/v1")
    paths = [adapter_for(url, http)._infill_route.path for url in urls]
    assert paths == ["/fim/completions", "/completions"]


@pytest.mark.requirement("chat:nine-character-ids")
async def test_mistrals_host_gets_nine_character_ids_in_the_first_request(http):
    assert adapter_for("https://api.mistral.ai/v1", http)._facts_of("m").tool_ids == "nine_characters"
    assert adapter_for("https://acme.example/v1", http)._facts_of("m").tool_ids == "any"


@pytest.mark.requirement("chat:reasoning-content-replay")
@pytest.mark.parametrize(
    "words",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
    ],
)
async def test_the_need_to_replay_reasoning_is_learned_from_a_refusal(upstream, http, words):
    first, second, *_ = await ask_after_refusal(
        upstream, http, refusal(words), "reasoning_content", messages=TOOL_ROUND
    )
    assert "reasoning_content" not in first[1]
    assert second[1]["reasoning_content"] == ""


@pytest.mark.requirement("chat:forced-tool-while-thinking")
async def test_a_forced_tool_that_a_thinking_model_refuses_is_an_error_in_its_words(upstream, http):
    upstream.script(refusal("deepseek-reasoner does not support this tool_choice"))
    _, error = await ask(
        adapter_for(upstream.base_url, http), tools=(ToolDefinition("f"),), tool_choice=NamedTool("f")
    )
    assert type(error) is RequestError
    assert "does not support this tool_choice" in error.message


@pytest.mark.requirement("2:opening")
@pytest.mark.parametrize("kind", [OpenAIAdapter, OpenAIResponsesAdapter, AnthropicAdapter])
async def test_only_the_vendors_endpoint_accepts_an_assistant_message_first(kind, http):
    def user_must_begin(base_url, **more):
        return kind("acme", ProviderConfig(kind="openai", base_url=base_url, **more), http).traits.user_begins

    own = kind.default_base_url
    assert [user_must_begin(None), user_must_begin(own), user_must_begin(f"{own}/")] == [False] * 3
    assert user_must_begin("http://127.0.0.1:8080/v1")
    assert user_must_begin(own, url="http://127.0.0.1:8080/v1/chat")
