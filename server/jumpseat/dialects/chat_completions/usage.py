"""Reads the token counts of this dialect.

Source: `CompletionUsage` of OpenAI's API reference, where prompt tokens include cached ones and completion
tokens include reasoning; `tests/dialect_rows/chat_completions.py` for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import Cost, Usage
from jumpseat.dialects.loose_values import count_in, mapping_in, number_in


def usage_in(chunk: Mapping[str, Any], choice: Mapping[str, Any]) -> Usage | None:
    """Return the usage in a chunk or body, from any of the places where servers put it; None if absent."""
    groq = chunk.get("x_groq")
    for source in (chunk, choice, groq if isinstance(groq, dict) else {}):
        usage = source.get("usage")
        if isinstance(usage, dict) and usage:
            return read_usage(usage)
    return None


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Read a usage object; the counts always include cached and reasoning tokens."""
    prompt = mapping_in(usage.get("prompt_tokens_details"))
    completion = mapping_in(usage.get("completion_tokens_details"))
    input_tokens = count_in(usage.get("prompt_tokens")) or 0
    output_tokens = count_in(usage.get("completion_tokens")) or 0
    # For Gemini's models, Copilot reports the reasoning tokens outside of the details.
    reasoning = count_in(completion.get("reasoning_tokens", usage.get("reasoning_tokens")))
    # xAI, and Gemini behind Copilot, do not count reasoning as completion tokens, but only in the total.
    if reasoning and count_in(usage.get("total_tokens")) == input_tokens + output_tokens + reasoning:
        output_tokens += reasoning
    cached = next(
        (
            count
            for value in (
                prompt.get("cached_tokens"),
                usage.get("prompt_cache_hit_tokens"),
                usage.get("cached_tokens"),
            )
            if (count := count_in(value)) is not None
        ),
        0,
    )
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cached,
        cache_creation_tokens=count_in(prompt.get("cache_write_tokens")) or 0,
        reasoning_tokens=reasoning,
        cost=_read_cost(usage.get("cost")),
    )


def _read_cost(value: Any) -> Cost | None:
    # OpenRouter reports a number of US dollars, Perplexity an object with `total_cost`.
    if isinstance(value, dict):
        value = value.get("total_cost")
    dollars = number_in(value)
    return None if dollars is None else Cost(float(dollars), "USD")
