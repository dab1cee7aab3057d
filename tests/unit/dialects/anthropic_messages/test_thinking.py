"""Thinking levels by model family, and the parameters that conflict with them."""

import pytest

from jumpseat.chat import (
    ChatRequest,
    Message,
    NamedTool,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.anthropic_messages import MessagesFacts, ModelRules, encode_with_warnings, rules_of
from jumpseat.dialects.anthropic_messages.models import family_and_version, override_rules

SUMMARIZED = {"type": "adaptive", "display": "summarized"}


def encode_thinking(model, *, rules=None, parameters=None, **more):
    request = ChatRequest(**{"messages": (Message.user("Hi"),), "model": model, **more})
    facts = MessagesFacts(provider="acme", rules=rules, parameters=parameters or {})
    body, warnings = encode_with_warnings(request, facts)
    return body, [each.code for each in warnings]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-opus-4-20250514", ("opus", (4, 0))),
        ("claude-opus-4-1-20250805", ("opus", (4, 1))),
        ("claude-sonnet-4.5", ("sonnet", (4, 5))),
        ("anthropic/claude-opus-4.8", ("opus", (4, 8))),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", ("haiku", (4, 5))),
        ("claude-3-7-sonnet-20250219", ("sonnet", (3, 7))),
        ("claude-3-haiku-20240307", ("haiku", (3, 0))),
        ("claude-fable-5-1", ("fable", (5, 1))),
        ("claude-mythos-preview", ("mythos", (5, 0))),
        ("claude-2.1", ("", (0, 0))),
        ("kimi-k2", None),
        ("mythomax-13b", None),
    ],
)
def test_model_names_are_recognised_in_the_spelling_of_every_gateway(name, expected):
    assert family_and_version(name) == expected


@pytest.mark.requirement("messages:thinking-budget")
@pytest.mark.parametrize(
    "model", ["claude-3-7-sonnet-20250219", "claude-opus-4-5", "claude-haiku-4-5", "kimi-k2"]
)
def test_a_default_limit_leaves_older_models_the_whole_budget_of_the_level(model):
    body, warnings = encode_thinking(model, thinking="high", max_tokens=24_576, answer_tokens=8192)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 16_384}
    assert body["max_tokens"] == 24_576
    assert "output_config" not in body
    assert warnings == []


@pytest.mark.requirement("messages:thinking-budget")
@pytest.mark.parametrize(
    ("asked", "answer", "total", "budget"),
    [
        (20_000, None, 20_000, 10_000),
        (40_000, None, 32_000, 16_000),
        # This limit is a default one, so the budget is all of it except for the answer.
        (40_960, 8192, 32_000, 23_808),
        (2048, None, 2048, 1024),
    ],
)
def test_a_budget_is_at_most_half_of_an_explicit_limit(asked, answer, total, budget):
    rules = ModelRules(max_output_tokens=32_000)
    body, _ = encode_thinking("x", rules=rules, thinking="max", max_tokens=asked, answer_tokens=answer)
    assert (body["max_tokens"], body["thinking"]["budget_tokens"]) == (total, budget)


@pytest.mark.requirement("messages:thinking-budget")
def test_a_budget_below_the_minimum_is_not_requested():
    body, warnings = encode_thinking("x", thinking="low", max_tokens=1000)
    assert "thinking" not in body
    assert body["max_tokens"] == 1000
    assert warnings == ["thinking_dropped"]


@pytest.mark.requirement("messages:thinking-budget")
def test_max_tokens_are_lowered_to_the_limit_of_the_model():
    assert encode_thinking("claude-3-haiku-20240307", max_tokens=8192)[0]["max_tokens"] == 4096


@pytest.mark.requirement("messages:thinking-adaptive", "messages:thinking-display")
@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-opus-4-6", {"type": "adaptive"}),
        ("claude-sonnet-4-6", {"type": "adaptive"}),
        ("claude-opus-4-7", SUMMARIZED),
        ("claude-opus-5", SUMMARIZED),
        ("claude-sonnet-5-5", SUMMARIZED),
        ("claude-fable-5", SUMMARIZED),
        ("claude-mythos-5", SUMMARIZED),
    ],
)
def test_newer_models_get_an_effort_and_exactly_the_limit_of_the_request(model, thinking):
    body, warnings = encode_thinking(model, thinking="low", max_tokens=1000)
    assert body["thinking"] == thinking
    assert body["output_config"] == {"effort": "low"}
    assert (body["max_tokens"], warnings) == (1000, [])


@pytest.mark.requirement("messages:thinking-off")
@pytest.mark.parametrize(
    ("model", "thinking", "codes"),
    [
        ("claude-haiku-4-5", {"type": "disabled"}, []),
        ("claude-opus-5", {"type": "disabled"}, []),
        ("claude-sonnet-5", {"type": "disabled"}, []),
        ("claude-sonnet-5-5", {"type": "between_tools"}, ["thinking_adjusted"]),
        ("claude-opus-5-5", {"type": "adaptive"}, ["thinking_adjusted"]),
        ("claude-fable-5-1", {"type": "adaptive"}, ["thinking_adjusted"]),
        ("claude-mythos-5", {"type": "adaptive"}, ["thinking_adjusted"]),
        ("claude-3-5-haiku-20241022", None, []),
    ],
)
def test_thinking_is_turned_off_if_the_model_allows_it(model, thinking, codes):
    body, warnings = encode_thinking(model, thinking="off")
    assert body.get("thinking") == thinking
    effort = {"effort": "low"} if thinking == {"type": "adaptive"} else None
    assert body.get("output_config") == effort
    assert warnings == codes


@pytest.mark.requirement("messages:thinking-off-effort")
def test_a_configured_effort_is_dropped_while_thinking_is_off():
    parameters = {"output_config": {"effort": "xhigh", "x": 1}}
    body, warnings = encode_thinking("claude-opus-5", thinking="off", parameters=parameters)
    assert body["output_config"] == {"x": 1}
    assert warnings == ["parameter_dropped"]
    body, _ = encode_thinking("claude-opus-5", thinking="high", parameters=parameters)
    assert body["output_config"]["effort"] == "xhigh"


def test_thinking_is_not_requested_from_a_model_without_it():
    body, warnings = encode_thinking("claude-3-5-sonnet-20241022", thinking="high")
    assert "thinking" not in body
    assert warnings == ["thinking_dropped"]


@pytest.mark.requirement("messages:forced-tools")
@pytest.mark.parametrize("choice", ["required", NamedTool("f")])
def test_a_forced_tool_or_thinking_is_dropped_if_a_model_cannot_do_both(choice):
    tools = {"tools": (ToolDefinition("f"),), "tool_choice": choice}
    for model in ("claude-fable-5", "claude-mythos-5"):
        body, warnings = encode_thinking(model, **tools)
        assert "tool_choice" not in body
        assert warnings == ["tool_choice_dropped"]
    body, warnings = encode_thinking("claude-haiku-4-5", thinking="low", **tools)
    assert "tool_choice" in body
    assert "thinking" not in body
    assert warnings == ["thinking_dropped"]
    body, warnings = encode_thinking("claude-opus-5", thinking="low", **tools)
    assert body["thinking"] == SUMMARIZED
    assert "tool_choice" in body
    assert warnings == []


@pytest.mark.requirement("messages:sampling-by-model")
@pytest.mark.parametrize(
    ("model", "taken"),
    [
        ("claude-opus-4-6", True),
        ("claude-opus-4-7", False),
        ("claude-sonnet-5", False),
        ("claude-fable-5", False),
        ("claude-mythos-5", False),
        ("claude-sonnet-4-5", True),
        ("qwen3", True),
    ],
)
def test_sampling_is_sent_only_to_models_that_accept_it(model, taken):
    settings = {"temperature": 1, "top_p": 1, "top_k": 4}
    body, warnings = encode_thinking(model, settings=settings)
    assert {name: body[name] for name in settings if name in body} == (settings if taken else {})
    assert warnings == ([] if taken else ["parameter_dropped"] * 3)


@pytest.mark.requirement("messages:sampling-while-thinking")
def test_sampling_that_conflicts_with_thinking_is_dropped():
    refused = {"temperature": 0.2, "top_p": 0.5, "top_k": 4}
    body, warnings = encode_thinking("claude-haiku-4-5", thinking="low", settings=refused)
    assert not refused.keys() & body.keys()
    assert warnings == ["parameter_dropped"] * 3
    body, warnings = encode_thinking(
        "claude-haiku-4-5", thinking="low", settings={"temperature": 1, "top_p": 0.97}
    )
    assert (body["temperature"], body["top_p"], warnings) == (1, 0.97, [])
    assert encode_thinking("claude-haiku-4-5", thinking="off", settings=refused)[1] == []
    assert encode_thinking("kimi-k2", thinking="low", settings=refused)[1] == []


@pytest.mark.requirement("messages:replay-loop")
def test_a_tool_loop_without_thinking_continues_without_it():
    model = "claude-sonnet-4-5"

    def loop(*thoughts):
        turn = Message("assistant", (*thoughts, ToolUseBlock("t", "f", {}, "{}")))
        messages = (Message.user("a"), turn, Message("user", (ToolResultBlock("t", "ok"),)))
        return encode_thinking(model, thinking="low", messages=messages)

    assert "thinking" not in loop()[0]
    assert loop()[1] == ["thinking_dropped"]
    assert "thinking" not in loop(ThinkingBlock("x", "s", origin=Origin("acme", "other")))[0]
    assert "thinking" in loop(ThinkingBlock("x", "s", origin=Origin("acme", model)))[0]


@pytest.mark.requirement("messages:replay-loop")
def test_thinking_is_not_requested_in_a_tool_loop_whose_answers_lost_it():
    model = "claude-sonnet-4-5"
    thought = ThinkingBlock("x", "s", origin=Origin("acme", model))
    messages = (
        Message.user("a"),
        Message("assistant", (thought, TextBlock("Well."))),
        Message("assistant", (thought, ToolUseBlock("t", "f", {}, "{}"))),
        Message("user", (ToolResultBlock("t", "ok"),)),
    )
    body, warnings = encode_thinking(model, thinking="low", messages=messages)

    assert [part["type"] for part in body["messages"][1]["content"]] == ["text", "tool_use"]
    assert "thinking" not in body
    assert warnings == ["foreign_data_dropped", "thinking_dropped"]


def support(flag):
    return {"supported": flag}


@pytest.mark.requirement("messages:model-capabilities")
def test_the_list_of_models_overrides_the_rules_that_follow_from_a_name():
    def row(adaptive, enabled, disabled, between):
        types = {"adaptive": adaptive, "enabled": enabled, "disabled": disabled, "between_tools": between}
        thinking = {"types": {name: support(flag) for name, flag in types.items()}}
        effort = {**support(True), "low": support(False), "high": support(True)}
        more = {"structured_outputs": support(True), "effort": effort}
        return {"max_tokens": 9000, "capabilities": {"thinking": thinking, **more}}

    base = rules_of("brand-new")
    assert override_rules(base, {}) == base
    rules = override_rules(base, row(True, False, False, True))
    assert (rules.thinking, rules.off, rules.max_output_tokens) == ("adaptive", "between_tools", 9000)
    assert rules.takes_schemas
    assert rules.effort_levels == {"high"}
    assert override_rules(base, row(False, True, True, False)).thinking == "enabled"
    assert override_rules(base, row(False, False, True, False)).thinking == "none"
    assert override_rules(base, row(True, False, False, False)).off == "low_effort"
    body, warnings = encode_thinking("brand-new", rules=rules, thinking="low")
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": "high"}
    assert warnings == ["thinking_adjusted"]


@pytest.mark.requirement("2:thinking-levels")
@pytest.mark.parametrize(
    ("model", "level", "effort", "codes"),
    [
        ("claude-opus-4-6", "minimal", "low", ["thinking_adjusted"]),
        ("claude-opus-4-6", "max", "max", []),
        ("claude-opus-5", "max", "max", []),
        ("claude-opus-5-5", "off", "low", ["thinking_adjusted"]),
    ],
)
def test_a_level_becomes_the_nearest_effort_of_the_model(model, level, effort, codes):
    body, warnings = encode_thinking(model, thinking=level)
    assert (body["output_config"], warnings) == ({"effort": effort}, codes)
