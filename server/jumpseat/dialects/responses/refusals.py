"""Lists the parameters that this dialect, or a model with a known name, does not accept.

The adapter learns about other parameters from the endpoint's errors. Source:
`tests/dialect_rows/responses.py` and `tests/dialect_rows/chat_completions.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jumpseat.chat import ChatRequest
from jumpseat.dialects.reasoning_models import find_reasoning_refusals, habit_of

# These families do not reason, and reject a request that asks for encrypted reasoning.
_NEVER_REASONS = re.compile(r"(gpt-[34]|chatgpt-|gpt-5-chat)")


def may_reason(model: str) -> bool:
    """Whether the model may reason; False if it is known not to."""
    return _NEVER_REASONS.match(model) is None


def find_unsupported(request: ChatRequest) -> dict[str, str]:
    """Return the parameters of the request that the dialect does not support, each with a reason.

    Returns:
        The reasons by parameter, in the form that `find_known_refusals` describes.
    """
    if not request.stop_sequences:
        return {}
    return {"stop": "does not support stop sequences in this API"}


def find_known_refusals(model: str, body: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a body that the model is known to reject, each with a reason.

    Args:
        model: the model's name in the request.
        body: the complete body.

    Returns:
        The reasons by parameter; a member of a parameter has a dotted name (`reasoning.effort`). Each reason
        is the predicate of a sentence about the model, such as "does not reason".
    """
    reasoning = body.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, Mapping) else None
    habit = habit_of(model)
    if not may_reason(model) or (habit is not None and not habit.can_reason):
        return {"reasoning": "does not reason"} if reasoning is not None else {}
    refused = find_reasoning_refusals(model, {**body, "reasoning_effort": effort})
    if reason := refused.pop("reasoning_effort", None):
        refused["reasoning" if effort == "none" else "reasoning.effort"] = reason
    return refused
