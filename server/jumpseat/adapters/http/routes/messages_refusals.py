"""What a refusal by this API is really about: a parameter, a form of thinking, or thinking sent back.

Pure functions on what the provider said. Above it is `messages`, which decides what to try next. Source:
the anthropic-messages reference, "Headers" and "Thinking".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jumpseat.adapters.http.refusals import THINKING_ELSEWHERE, is_refusal, refused_parameter
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

# Without these a request is another request: refusing one of them is an answer, not an obstacle.
_ESSENTIAL = frozenset({"model", "messages", "max_tokens", "stream", "system", "tools", "tool_choice"})

_FOREIGN = re.compile(
    r"signature|thinking.{0,80}cannot be modified|expected `?(redacted_)?thinking"
    r"|`?data`? in `?redacted_thinking|redacted_thinking.{0,60}(invalid|decrypt)",
    re.IGNORECASE | re.DOTALL,
)
_TOO_MANY = re.compile(r"max_tokens: \d+ > (\d+)")


def refused_name(fault: ProviderFault, error: ChatError, body: Mapping[str, Any]) -> str | None:
    """The name of the top-level parameter that the endpoint will not take, if that is the trouble."""
    if "cannot both be specified" in fault.message:
        # Of two that exclude each other the longer-known one stays.
        names = [name for name in body if name not in _ESSENTIAL and f"`{name}`" in fault.message]
        return names[-1] if names else None
    if _asks_for_effort(fault, body):
        return "output_config"
    name = refused_parameter(fault, error, body, _ESSENTIAL)
    return name.partition(".")[0] if name is not None else None


def _asks_for_effort(fault: ProviderFault, body: Mapping[str, Any]) -> bool:
    named = re.search(r"(?<![\w.])effort\b", fault.message, re.IGNORECASE) is not None
    return named and "effort" in _object(body.get("output_config")) and is_refusal(fault)


def rules_after_refusal(
    rules: ModelRules, name: str, fault: ProviderFault, body: Mapping[str, Any], refused: frozenset[str]
) -> ModelRules | None:
    """Rules that say the same in another form; None where the parameter has no other form.

    Args:
        rules: the rules under which the request was made.
        name: the parameter that was refused.
        fault: what the provider said.
        body: the request as it was sent.
        refused: the forms of thinking that were refused before.
    """
    thinking = _object(body.get("thinking"))
    if name in ("thinking", "output_config") and any(word in fault.message for word in THINKING_ELSEWHERE):
        # A gateway has put it into another dialect, whose model takes it in no form.
        return replace(rules, thinking="none", off="absent", effort_levels=frozenset())
    if name == "output_config" and "effort" in fault.message.lower():
        return replace(rules, effort_levels=frozenset())
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


def told_limit(fault: ProviderFault) -> int | None:
    """The most that `max_tokens` may be, where that is what the refusal is about."""
    found = _TOO_MANY.search(fault.message)
    return int(found[1]) if found else None


def is_about_thinking_sent_back(fault: ProviderFault, body: Mapping[str, Any]) -> bool:
    """Whether the API does not accept the thinking of earlier turns, some of which was sent."""
    sent = any(
        part.get("type") in ("thinking", "redacted_thinking")
        for message in body["messages"]
        for part in message["content"]
    )
    return sent and _FOREIGN.search(fault.message) is not None


def without_thinking(request: ChatRequest, provider: str) -> ChatRequest:
    """The request with its thinking marked as somebody else's, so that it is left out with a warning."""
    nobody = Origin(provider, "")

    def disowned(block: ContentBlock) -> ContentBlock:
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            return replace(block, origin=nobody)
        return block

    messages = [
        Message(message.role, tuple(disowned(block) for block in message.content))
        for message in request.messages
    ]
    return replace(request, messages=messages)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
