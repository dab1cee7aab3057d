"""Token counts of this dialect in the vocabulary's terms.

Source: `ResponseUsage` of OpenAI's API reference, where input tokens include cached ones and output tokens
include reasoning; the openai-responses reference for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import Cost, Usage


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """A usage object; what is missing counts as nothing."""
    given = usage.get("input_tokens_details")
    made = usage.get("output_tokens_details")
    given = given if isinstance(given, dict) else {}
    made = made if isinstance(made, dict) else {}
    cost = usage.get("cost")  # OpenRouter's, in US dollars.
    return Usage(
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        cache_read_tokens=_count(given.get("cached_tokens")),
        cache_creation_tokens=_count(given.get("cache_write_tokens")),
        reasoning_tokens=_optional(made.get("reasoning_tokens")),
        cost=Cost(float(cost), "USD") if isinstance(cost, int | float) and type(cost) is not bool else None,
    )


def _optional(value: Any) -> int | None:
    is_count = isinstance(value, int | float) and type(value) is not bool and abs(value) < 2**53
    return max(0, int(value)) if is_count else None  # NaN, Infinity and 1e999 count nothing.


def _count(value: Any) -> int:
    return _optional(value) or 0
