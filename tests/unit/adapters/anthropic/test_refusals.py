"""The reactions of the Anthropic adapter to refusals."""

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.chat import (
    JsonSchemaOutput,
    Message,
    Origin,
    RedactedThinkingBlock,
    RequestError,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
)
from jumpseat.testing.answers.anthropic_messages import Words, message_stream
from jumpseat.testing.upstream import Reply
from tests.unit.adapters.anthropic_chats import MODEL, adapter_for, collect, refusal, request_for
from tests.unit.adapters.streams import codes


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
    upstream.script(refusal(text))
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
            {"type": "enabled", "budget_tokens": 4096},
        ),
        (
            "custom-model",
            "low",
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
            {"type": "enabled", "budget_tokens": 4096},
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
async def test_a_refused_form_of_thinking_is_replaced_by_another(
    upstream, http, model, level, text, first, second
):
    upstream.script(refusal(text), Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http)
    request = request_for(model=model, thinking=level)
    _, replan = await collect(adapter, request)
    assert replan.reason.startswith("refused_parameter:thinking")
    assert (await collect(adapter, request))[1] is None
    forms = [each.json["thinking"] for each in upstream.requests]
    assert forms[0] == first
    assert {name: forms[1][name] for name in second} == second


@pytest.mark.requirement("messages:refused-parameter")
async def test_thinking_that_is_refused_in_every_form_is_dropped(upstream, http):
    text = "thinking is not supported for this model"
    upstream.script(refusal(text), refusal(text))
    upstream.default(Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http)
    request = request_for(model="custom-model", thinking="low")
    reasons = [(await collect(adapter, request))[1].reason for _ in range(2)]
    assert len(set(reasons)) == 2
    events, error = await collect(adapter, request)
    assert error is None
    assert "thinking" not in upstream.requests[2].json
    assert codes(events) == ["parameter_dropped"]


LITELLM = (
    "litellm.UnsupportedParamsError: acme does not support parameters: ['{}'], for model=m. To drop these, "
    "set `litellm.drop_params=True`. If you want to use these dynamically send allowed_openai_params=['{}']"
)


@pytest.mark.requirement("messages:refused-parameter")
@pytest.mark.parametrize("model", ["claude-opus-4-6", "custom-model"])
@pytest.mark.parametrize(
    "text", [LITELLM.replace("{}", "reasoning_effort"), "m doesn't support `reasoning.effort`"]
)
async def test_thinking_that_a_gateway_does_not_support_is_dropped_immediately(upstream, http, model, text):
    upstream.script(refusal(text))
    upstream.default(Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http)
    request = request_for(model=model, thinking="low")
    _, replan = await collect(adapter, request)
    assert replan.reason.startswith("refused_parameter:thinking")
    events, error = await collect(adapter, request)
    assert (error, codes(events)) == (None, ["thinking_dropped"])
    assert upstream.requests[1].json.keys().isdisjoint({"thinking", "output_config"})


@pytest.mark.requirement("messages:refused-parameter")
async def test_stop_sequences_that_a_gateway_does_not_support_are_dropped(upstream, http):
    upstream.script(refusal(LITELLM.replace("{}", "stop")))
    upstream.default(Reply.events(message_stream(Words(["x"]))))
    adapter = adapter_for(upstream, http)
    request = request_for(stop_sequences=("END",))
    assert (await collect(adapter, request))[1].reason == "refused_parameter:stop_sequences"
    events, error = await collect(adapter, request)
    assert (error, codes(events)) == (None, ["parameter_dropped"])
    assert "stop_sequences" not in upstream.requests[1].json


@pytest.mark.requirement("messages:refused-parameter")
async def test_a_refused_effort_is_dropped_and_the_schema_kept(upstream, http):
    upstream.script(
        refusal("This model does not support the effort parameter."), Reply.events(message_stream())
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
async def test_a_refusal_of_an_essential_parameter_is_an_error(upstream, http, text):
    upstream.script(refusal(text))
    _, error = await collect(adapter_for(upstream, http), request_for(tools=(ToolDefinition("f"),)))
    assert type(error) is RequestError


@pytest.mark.requirement("messages:max-tokens-limit")
async def test_the_models_limit_is_learned_from_the_refusal(upstream, http):
    text = "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for x"
    upstream.script(refusal(text), Reply.events(message_stream()))
    adapter = adapter_for(upstream, http)
    request = request_for(model="custom-model", max_tokens=64_000)
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
async def test_refused_thinking_blocks_are_dropped_from_the_next_request(upstream, http, text):
    upstream.script(refusal(text), Reply.events(message_stream(Words(["x"]))))
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


async def test_a_refusal_of_thinking_that_was_not_sent_is_an_error(upstream, http):
    upstream.script(refusal("Invalid `signature` in `thinking` block"))
    assert type((await collect(adapter_for(upstream, http)))[1]) is RequestError
