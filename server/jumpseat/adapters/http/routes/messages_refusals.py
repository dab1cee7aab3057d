"""Finds the cause of a Messages endpoint's refusal: a parameter, a form of thinking, or replayed thinking.

Source: `tests/dialect_rows/anthropic_messages.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jumpseat.adapters.http.refusals import THINKING_ELSEWHERE, find_refused_parameter, is_refusal
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    ContentBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    ThinkingBlock,
)
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.anthropic_messages import ModelRules
from jumpseat.dialects.efforts import efforts_after_refusal

# Dropping one of these would change the meaning of the request, so its refusal is an error.
_ESSENTIAL = frozenset({"model", "messages", "max_tokens", "stream", "system", "tools", "tool_choice"})

_FOREIGN = re.compile(
    r"signature|thinking.{0,80}cannot be modified|expected `?(redacted_)?thinking"
    r"|`?data`? in `?redacted_thinking|redacted_thinking.{0,60}(invalid|decrypt)",
    re.IGNORECASE | re.DOTALL,
)
_TOO_MANY = re.compile(r"max_tokens: \d+ > (\d+)")


def find_refused_name(fault: ProviderFault, error: ChatError, body: Mapping[str, Any]) -> str | None:
    """Return the top-level parameter that the endpoint refuses; None if the refusal has another cause."""
    if "cannot both be specified" in fault.message:
        # Of two parameters that exclude each other, keep the first one in the body.
        names = [name for name in body if name not in _ESSENTIAL and f"`{name}`" in fault.message]
        return names[-1] if names else None
    if _is_effort_refused(fault, body):
        return "output_config"
    name = find_refused_parameter(fault, error, body, _ESSENTIAL)
    return name.partition(".")[0] if name is not None else None


def _is_effort_refused(fault: ProviderFault, body: Mapping[str, Any]) -> bool:
    named = re.search(r"(?<![\w.])effort\b", fault.message, re.IGNORECASE) is not None
    return named and "effort" in _object(body.get("output_config")) and is_refusal(fault)


def rules_after_refusal(
    rules: ModelRules, name: str, fault: ProviderFault, body: Mapping[str, Any], refused: frozenset[str]
) -> ModelRules | None:
    """Return rules with which the encoder writes the parameter in another form; None if no form is left.

    Args:
        rules: the rules that the request was encoded with.
        name: the refused parameter.
        fault: the parsed error body.
        body: the body as it was sent.
        refused: the forms of thinking that were refused before.
    """
    thinking = _object(body.get("thinking"))
    if name in ("thinking", "output_config") and any(word in fault.message for word in THINKING_ELSEWHERE):
        # A gateway translated the request into another dialect, for a model that accepts no form of thinking.
        return replace(rules, thinking="none", off="absent", effort_levels=frozenset())
    if name == "output_config" and "effort" in fault.message.lower():
        sent = _object(body["output_config"]).get("effort")
        remaining = efforts_after_refusal(fault.message, str(sent), rules.effort_levels)
        return replace(rules, effort_levels=frozenset(remaining or ()))
    if name != "thinking":
        return None
    if "display" in fault.message and "display" in thinking:
        return replace(rules, hides_thinking=False)
    match thinking.get("type"):
        case "adaptive" if "enabled" not in refused:
            return replace(rules, thinking="enabled")
        case "enabled" if "adaptive" not in refused:
            return replace(rules, thinking="adaptive")
        case "disabled" | "between_tools" if rules.thinking == "adaptive":
            return replace(rules, off="low_effort")
        case "disabled" | "between_tools":
            return replace(rules, off="absent")
        case _:
            return None


def limit_in_refusal(fault: ProviderFault) -> int | None:
    """Return the maximum of `max_tokens` that the error names; None if the refusal has another cause."""
    match = _TOO_MANY.search(fault.message)
    return int(match[1]) if match else None


def is_about_replayed_thinking(fault: ProviderFault, body: Mapping[str, Any]) -> bool:
    """Whether the request replays thinking that the API refuses."""
    sent = any(
        part.get("type") in ("thinking", "redacted_thinking")
        for message in body["messages"]
        for part in message["content"]
    )
    return sent and _FOREIGN.search(fault.message) is not None


def mark_thinking_as_foreign(request: ChatRequest, provider: str) -> ChatRequest:
    """Return the request with its thinking marked as foreign, so that the encoder omits it with a warning."""
    foreign = Origin(provider, "")

    def as_foreign(block: ContentBlock) -> ContentBlock:
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            return replace(block, origin=foreign)
        return block

    messages = [
        Message(message.role, tuple(as_foreign(block) for block in message.content))
        for message in request.messages
    ]
    return replace(request, messages=messages)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
