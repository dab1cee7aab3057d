"""Encodes the thinking level of a request, and drops the parameters that conflict with it.

Source: `tests/dialect_rows/anthropic_messages.py`; "Extended thinking" and "Effort" in Anthropic's guide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.chat import THINKING_ROOM, ThinkingLevel, WarningEvent
from jumpseat.dialects.anthropic_messages.models import ModelRules
from jumpseat.dialects.efforts import effort_warning, nearest_effort
from jumpseat.dialects.parameters import dropped_parameter_warning

LEAST_BUDGET = 1024

SAMPLING = ("temperature", "top_p", "top_k")


def apply_thinking(
    body: dict[str, Any],
    level: ThinkingLevel,
    answer_tokens: int | None,
    rules: ModelRules,
    warnings: list[WarningEvent],
) -> None:
    """Write `thinking` and `output_config.effort` into the body.

    Args:
        body: the request body with `max_tokens`, `messages` and, if set, `tool_choice`.
        level: the requested level.
        answer_tokens: the field of this name in `ChatRequest`.
        rules: the rules of the model.
        warnings: receives a warning for each part that is changed or left out.
    """
    model = body["model"]
    if level == "off":
        _turn_off(body, rules, warnings)
    elif rules.thinking == "none":
        warnings.append(
            WarningEvent("thinking_dropped", f"Thinking was left out: {model} does not support it.")
        )
    elif rules.thinking == "adaptive":
        body["thinking"] = {"type": "adaptive"}
        if rules.hides_thinking:
            body["thinking"]["display"] = "summarized"
        _set_effort(body, level, rules, warnings)
    elif rules.strict_thinking and body.get("tool_choice", {}).get("type") in ("any", "tool"):
        message = f"Thinking was left out: {model} cannot think while a tool call is forced."
        warnings.append(WarningEvent("thinking_dropped", message))
    elif rules.strict_thinking and _is_tool_loop_without_thinking(body["messages"]):
        message = f"Thinking was left out: {model} cannot start to think between tool calls."
        warnings.append(WarningEvent("thinking_dropped", message))
    else:
        _set_budget(body, level, answer_tokens, warnings)


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
        _set_effort(body, "off", rules, warnings)


def _set_effort(
    body: dict[str, Any], level: ThinkingLevel, rules: ModelRules, warnings: list[WarningEvent]
) -> None:
    effort = nearest_effort(level, rules.effort_levels)
    if effort is not None:
        body["output_config"] = {"effort": effort}
        warning = effort_warning(body["model"], level, effort)
    else:
        message = f"{body['model']} has no effort for {level!r}, so it uses its default effort."
        warning = WarningEvent("thinking_adjusted", message)
    if warning is not None:
        warnings.append(warning)


def _set_budget(
    body: dict[str, Any], level: ThinkingLevel, answer_tokens: int | None, warnings: list[WarningEvent]
) -> None:
    limit = body["max_tokens"]
    # If `answer_tokens` is set, `max_tokens` is a default, which has room for the answer and for thinking,
    # unless the model's own limit is too low for both.
    most = limit // 2 if answer_tokens is None else max(limit // 2, limit - answer_tokens)
    budget = min(THINKING_ROOM[level], most)
    if budget < LEAST_BUDGET:
        message = f"Thinking was left out: {budget} tokens are too few for {body['model']} to think."
        warnings.append(WarningEvent("thinking_dropped", message))
        return
    body["thinking"] = {"type": "enabled", "budget_tokens": budget}


def _is_tool_loop_without_thinking(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last message has tool results, but the message with the calls has no thinking."""
    if len(messages) < 2 or not any(part["type"] == "tool_result" for part in messages[-1]["content"]):
        return False
    return not any(part["type"] in ("thinking", "redacted_thinking") for part in messages[-2]["content"])


def drop_refused_sampling(body: dict[str, Any], rules: ModelRules, warnings: list[WarningEvent]) -> None:
    """Remove the sampling parameters that the model always rejects, or rejects while it thinks."""
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
        warnings.append(dropped_parameter_warning(name, f"{body['model']} {reason}"))


def drop_refused_effort(body: dict[str, Any], warnings: list[WarningEvent]) -> None:
    """Remove a configured effort that models such as Opus 5 reject while thinking is off."""
    config = body.get("output_config")
    if not isinstance(config, dict) or body.get("thinking") != {"type": "disabled"}:
        return
    if config.get("effort") in ("xhigh", "max"):
        reason = f"{body['model']} does not accept {config['effort']!r} without thinking"
        body["output_config"] = {name: value for name, value in config.items() if name != "effort"}
        warnings.append(dropped_parameter_warning("output_config.effort", reason))
