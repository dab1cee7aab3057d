"""Reads the token counts of this dialect.

Source: `ResponseUsage` of OpenAI's API reference, where input tokens include cached ones and output tokens
include reasoning; `tests/dialect_rows/responses.py` for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import Cost, Usage
from jumpseat.dialects.loose_values import count_in, mapping_in, number_in


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Read a usage object; a missing count is 0."""
    input_details = mapping_in(usage.get("input_tokens_details"))
    output_details = mapping_in(usage.get("output_tokens_details"))
    dollars = number_in(usage.get("cost"))  # Only OpenRouter reports a cost.
    return Usage(
        input_tokens=count_in(usage.get("input_tokens")) or 0,
        output_tokens=count_in(usage.get("output_tokens")) or 0,
        cache_read_tokens=count_in(input_details.get("cached_tokens")) or 0,
        cache_creation_tokens=count_in(input_details.get("cache_write_tokens")) or 0,
        reasoning_tokens=count_in(output_details.get("reasoning_tokens")),
        cost=None if dollars is None else Cost(float(dollars), "USD"),
    )
