"""The thinking level of a request as this dialect says it, and what must give way to it.

Source: the anthropic-messages reference, "Thinking"; "Extended thinking" and "Effort" in Anthropic's guide.
Above it is the encoder; below it the table of models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.chat import ThinkingLevel, WarningEvent
from jumpseat.dialects.anthropic_messages.models import ModelRules

BUDGETS = {"low": 2048, "medium": 8192, "high": 16_384}
"""Tokens of thinking, on top of those asked for the answer: `max_tokens` counts both."""

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
        level: what was asked.
        rules: what the model takes.
        warnings: where to say what could not be done.
    """
    model = body["model"]
    if level == "off":
        _turn_off(body, rules, warnings)
    elif rules.thinking == "none":
        warnings.append(WarningEvent("thinking_dropped", f"{model} has no thinking; it was left out."))
    elif rules.thinking == "adaptive":
        body["thinking"] = {"type": "adaptive"}
        if rules.hides_thinking:
            body["thinking"]["display"] = "summarized"
        if level in rules.effort_levels:
            body["output_config"] = {"effort": level}
        else:
            warnings.append(
                WarningEvent("thinking_adjusted", f"{model} thinks, but has no effort {level!r}.")
            )
    elif rules.strict_thinking and body.get("tool_choice", {}).get("type") in ("any", "tool"):
        told = f"{model} cannot think where a tool is forced; thinking was left out."
        warnings.append(WarningEvent("thinking_dropped", told))
    elif rules.strict_thinking and _in_a_loop_without_thinking(body["messages"]):
        told = f"{model} cannot begin to think in the midst of tool calls; thinking was left out."
        warnings.append(WarningEvent("thinking_dropped", told))
    else:
        _set_budget(body, BUDGETS[level], rules, warnings)


def _turn_off(body: dict[str, Any], rules: ModelRules, warnings: list[WarningEvent]) -> None:
    model = body["model"]
    if rules.off == "disabled":
        body["thinking"] = {"type": "disabled"}
    elif rules.off == "between_tools":
        body["thinking"] = {"type": "between_tools"}
        warnings.append(
            WarningEvent("thinking_adjusted", f"{model} may still write short thoughts between tool calls.")
        )
    elif rules.off == "low_effort":
        body["thinking"] = {"type": "adaptive"}
        if "low" in rules.effort_levels:
            body["output_config"] = {"effort": "low"}
        told = f"The thinking of {model} cannot be turned off; it was set to the lowest effort."
        warnings.append(WarningEvent("thinking_adjusted", told))


def _set_budget(body: dict[str, Any], budget: int, rules: ModelRules, warnings: list[WarningEvent]) -> None:
    total = body["max_tokens"] + budget
    if rules.max_output_tokens is not None:
        total = max(body["max_tokens"], min(total, rules.max_output_tokens))
    # The budget must be below `max_tokens`; half is left to the answer where both do not fit.
    budget = min(budget, max(total - body["max_tokens"], total // 2))
    if budget < LEAST_BUDGET:
        told = f"{budget} tokens are too few for {body['model']} to think; thinking was left out."
        warnings.append(WarningEvent("thinking_dropped", told))
        return
    body["max_tokens"] = total
    body["thinking"] = {"type": "enabled", "budget_tokens": budget}


def _in_a_loop_without_thinking(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last message that is sent holds tool results, and the turn that called has no thinking."""
    if len(messages) < 2 or not any(part["type"] == "tool_result" for part in messages[-1]["content"]):
        return False
    return not any(part["type"] in ("thinking", "redacted_thinking") for part in messages[-2]["content"])


def drop_refused_sampling(body: dict[str, Any], rules: ModelRules, warnings: list[WarningEvent]) -> None:
    """Take sampling values out of the body that the model refuses, by itself or while it thinks."""
    thinks = body.get("thinking", {}).get("type") in ("enabled", "adaptive") and rules.strict_thinking
    for name in SAMPLING:
        if name not in body:
            continue
        value = body[name]
        harmless = (name == "temperature" and value == 1) or (
            name == "top_p" and isinstance(value, int | float) and 0.95 <= value <= 1
        )
        if not rules.takes_sampling:
            why = f"{body['model']} does not take {name!r}; left out."
        elif thinks and not harmless:
            why = f"{body['model']} does not take this {name!r} while it thinks; left out."
        else:
            continue
        del body[name]
        warnings.append(WarningEvent("parameter_dropped", why))


def drop_refused_effort(body: dict[str, Any], warnings: list[WarningEvent]) -> None:
    """Take out an effort of the configuration's that is refused where thinking is off (Opus 5)."""
    config = body.get("output_config")
    if not isinstance(config, dict) or body.get("thinking") != {"type": "disabled"}:
        return
    if config.get("effort") in ("xhigh", "max"):
        told = f"{body['model']} does not take the effort {config['effort']!r} without thinking; left out."
        body["output_config"] = {name: value for name, value in config.items() if name != "effort"}
        warnings.append(WarningEvent("parameter_dropped", told))
