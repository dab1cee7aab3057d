"""Encodes the thinking level of a request, and drops the parameters that conflict with it.

Source: the anthropic-messages reference, "Thinking"; "Extended thinking" and "Effort" in Anthropic's guide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.chat import ThinkingLevel, WarningEvent
from jumpseat.dialects.anthropic_messages.models import ModelRules
from jumpseat.dialects.parameters import dropped_parameter

BUDGETS = {"low": 2048, "medium": 8192, "high": 16_384}
"""Tokens of thinking, in addition to those of the answer: `max_tokens` counts both."""

LEAST_BUDGET = 1024

SAMPLING = ("temperature", "top_p", "top_k")


def apply_thinking(
    body: dict[str, Any],
    level: ThinkingLevel,
    rules: ModelRules,
    warnings: list[WarningEvent],
) -> None:
    """Write `thinking` and `output_config.effort` into the body; raise `max_tokens` by the budget.

    Args:
        body: holds `max_tokens`, `messages`, and `tool_choice` if there is one.
        level: the requested level.
        rules: what the model accepts.
        warnings: gets a warning for what is changed or left out.
    """
    model = body["model"]
    if level == "off":
        _turn_off(body, rules, warnings)
    elif rules.thinking == "none":
        warnings.append(WarningEvent("thinking_dropped", f"Thinking was left out: {model} has none."))
    elif rules.thinking == "adaptive":
        body["thinking"] = {"type": "adaptive"}
        if rules.hides_thinking:
            body["thinking"]["display"] = "summarized"
        if level in rules.effort_levels:
            body["output_config"] = {"effort": level}
        else:
            message = f"{model} has no effort {level!r}; it thinks with its default effort."
            warnings.append(WarningEvent("thinking_adjusted", message))
    elif rules.strict_thinking and body.get("tool_choice", {}).get("type") in ("any", "tool"):
        message = f"Thinking was left out: {model} cannot think while a tool call is forced."
        warnings.append(WarningEvent("thinking_dropped", message))
    elif rules.strict_thinking and _in_a_loop_without_thinking(body["messages"]):
        message = f"Thinking was left out: {model} cannot start to think between tool calls."
        warnings.append(WarningEvent("thinking_dropped", message))
    else:
        _set_budget(body, BUDGETS[level], rules, warnings)


def _turn_off(body: dict[str, Any], rules: ModelRules, warnings: list[WarningEvent]) -> None:
    model = body["model"]
    if rules.off == "disabled":
        body["thinking"] = {"type": "disabled"}
    elif rules.off == "between_tools":
        body["thinking"] = {"type": "between_tools"}
        message = f"{model} may still think briefly between tool calls."
        warnings.append(WarningEvent("thinking_adjusted", message))
    elif rules.off == "low_effort":
        body["thinking"] = {"type": "adaptive"}
        if "low" in rules.effort_levels:
            body["output_config"] = {"effort": "low"}
        message = f"{model} cannot turn thinking off; the lowest effort was requested."
        warnings.append(WarningEvent("thinking_adjusted", message))


def _set_budget(body: dict[str, Any], budget: int, rules: ModelRules, warnings: list[WarningEvent]) -> None:
    total = body["max_tokens"] + budget
    if rules.max_output_tokens is not None:
        total = max(body["max_tokens"], min(total, rules.max_output_tokens))
    # The budget must be below `max_tokens`. If both do not fit, half remains for the answer.
    budget = min(budget, max(total - body["max_tokens"], total // 2))
    if budget < LEAST_BUDGET:
        message = f"Thinking was left out: {budget} tokens are too few for {body['model']} to think."
        warnings.append(WarningEvent("thinking_dropped", message))
        return
    body["max_tokens"] = total
    body["thinking"] = {"type": "enabled", "budget_tokens": budget}


def _in_a_loop_without_thinking(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last message has tool results, and the message with the calls has no thinking."""
    if len(messages) < 2 or not any(part["type"] == "tool_result" for part in messages[-1]["content"]):
        return False
    return not any(part["type"] in ("thinking", "redacted_thinking") for part in messages[-2]["content"])


def drop_refused_sampling(body: dict[str, Any], rules: ModelRules, warnings: list[WarningEvent]) -> None:
    """Remove the sampling parameters that the model refuses, always or while it thinks."""
    thinks = body.get("thinking", {}).get("type") in ("enabled", "adaptive") and rules.strict_thinking
    for name in SAMPLING:
        if name not in body:
            continue
        value = body[name]
        harmless = (name == "temperature" and value == 1) or (
            name == "top_p" and isinstance(value, int | float) and 0.95 <= value <= 1
        )
        if not rules.takes_sampling:
            reason = "does not accept it"
        elif thinks and not harmless:
            reason = "does not accept this value while it thinks"
        else:
            continue
        del body[name]
        warnings.append(dropped_parameter(name, f"{body['model']} {reason}"))


def drop_refused_effort(body: dict[str, Any], warnings: list[WarningEvent]) -> None:
    """Remove a configured effort that is refused while thinking is off (Opus 5)."""
    config = body.get("output_config")
    if not isinstance(config, dict) or body.get("thinking") != {"type": "disabled"}:
        return
    if config.get("effort") in ("xhigh", "max"):
        reason = f"{body['model']} does not accept {config['effort']!r} without thinking"
        body["output_config"] = {name: value for name, value in config.items() if name != "effort"}
        warnings.append(dropped_parameter("output_config.effort", reason))
