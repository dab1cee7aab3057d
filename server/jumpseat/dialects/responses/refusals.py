"""What this dialect, or a model by its name, is known not to take.

Owns the parameters that are left out before anything is sent, each with its reason, so that the adapter can
tell the user. What an endpoint refuses by itself is learned by the adapter. Source: the openai-responses
and openai-chat references, "Request". It does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jumpseat.chat import ChatRequest
from jumpseat.dialects.reasoning_models import SAMPLING, habit_of

# Families that came before reasoning; those asked for encrypted reasoning refuse the whole request.
_NEVER_REASONS = re.compile(r"(gpt-[34]|chatgpt-|gpt-5-chat)")


def may_reason(model: str) -> bool:
    """False for a model that is known not to reason."""
    return _NEVER_REASONS.match(model) is None


def unsayable(request: ChatRequest) -> dict[str, str]:
    """What the request wishes and the dialect has no words for, each with the reason as half a sentence."""
    if not request.stop_sequences:
        return {}
    return {"stop": "has no stop sequences in this API"}


def refused_by_model(model: str, body: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a body that the model is known to refuse, each with the reason as half a sentence.

    Args:
        model: the model's name, as it goes into the request.
        body: the request, whole. Names in the answer may be dotted: `reasoning.effort`.
    """
    reasoning = body.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, Mapping) else None
    habit = habit_of(model)
    if not may_reason(model) or (habit is not None and not habit.ever):
        return {"reasoning": "does not reason"} if reasoning is not None else {}
    if habit is None:
        return {}
    refused: dict[str, str] = {}
    if effort == "none" and not habit.may_be_off:
        refused["reasoning"] = "cannot be told not to reason"
        effort = None
    if effort == "minimal" and model.startswith("gpt-5.6"):
        refused["reasoning.effort"] = "does not know the effort 'minimal'"
        effort = None
    if habit.by_default if effort is None else effort != "none":
        refused |= {name: "does not take it while it reasons" for name in SAMPLING if name in body}
    return refused


def without(body: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The body without these parameters; a dotted name takes a member away, and what is empty then."""
    kept = dict(body)
    for name in names:
        outer, _, inner = name.partition(".")
        value = kept.get(outer)
        if inner and isinstance(value, Mapping):
            value = {key: each for key, each in value.items() if key != inner}
        if inner and value:
            kept[outer] = value
        else:
            kept.pop(outer, None)
    return kept
