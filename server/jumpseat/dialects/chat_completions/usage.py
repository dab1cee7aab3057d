"""Token counts of this dialect in the vocabulary's terms.

Source: `CompletionUsage` of OpenAI's API reference, where prompt tokens include cached ones and completion
tokens include reasoning; the openai-chat reference for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import Cost, Usage

MAX_COUNT = 2**53
"""Beyond this a number is no count, and JSON's readers no longer agree on it."""


def usage_in(chunk: Mapping[str, Any], choice: Mapping[str, Any]) -> Usage | None:
    """The usage of a chunk or body, from wherever the server puts it; None where there is none."""
    groq = chunk.get("x_groq")
    for source in (chunk, choice, groq if isinstance(groq, dict) else {}):
        usage = source.get("usage")
        if isinstance(usage, dict):
            return read_usage(usage)
    return None


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """A usage object, inclusive of cache and reasoning whatever the server's own habit is."""
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    prompt = prompt if isinstance(prompt, dict) else {}
    completion = completion if isinstance(completion, dict) else {}
    given = _count(usage.get("prompt_tokens"))
    made = _count(usage.get("completion_tokens"))
    # Copilot tells it for Gemini beside the counts, not among the details.
    reasoning = _optional(completion.get("reasoning_tokens", usage.get("reasoning_tokens")))
    # xAI, and Gemini behind Copilot, count reasoning beside the completion; only the total shows it.
    if reasoning and _count(usage.get("total_tokens")) == given + made + reasoning:
        made += reasoning
    cached = next(
        (
            count
            for value in (
                prompt.get("cached_tokens"),
                usage.get("prompt_cache_hit_tokens"),
                usage.get("cached_tokens"),
            )
            if (count := _optional(value)) is not None
        ),
        0,
    )
    return Usage(
        input_tokens=given,
        output_tokens=made,
        cache_read_tokens=cached,
        cache_creation_tokens=_count(prompt.get("cache_write_tokens")),
        reasoning_tokens=reasoning,
        cost=_cost(usage.get("cost")),
    )


def _optional(value: Any) -> int | None:
    return int(value) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    """JSON may hold 1e999, which is read as infinity and counts nothing."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_COUNT


def _count(value: Any) -> int:
    return max(0, _optional(value) or 0)


def _cost(value: Any) -> Cost | None:
    """OpenRouter says a number of US dollars, Perplexity an object with `total_cost`."""
    if isinstance(value, dict):
        value = value.get("total_cost")
    return Cost(float(value), "USD") if _is_number(value) else None
