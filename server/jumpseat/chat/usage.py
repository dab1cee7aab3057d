"""Stop reasons, tokens and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

StopReason: TypeAlias = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "content_filter",
    "context_exceeded",
    "pause_turn",
    "max_rounds",
    "cancelled",
    "error",
]
"""Why an answer ended.

`cancelled` and `error` only occur in the last event of a failed turn. `max_rounds` only occurs in turns with
tools that the daemon runs."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a turn as reported by the provider."""

    amount: float
    currency: str


def add_costs(total: Cost | None, cost: Cost | None) -> Cost | None:
    """Return the sum of two costs. If their currencies differ, return only the second cost."""
    if cost is None or total is None or total.currency != cost.currency:
        return cost or total
    return Cost(total.amount + cost.amount, cost.currency)


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one turn. `input_tokens` includes cached tokens, `output_tokens` includes reasoning."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    reasoning_tokens: int | None = None
    cost: Cost | None = None


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """Return the usage of two requests together; None if neither reported any."""
    if one is None or other is None:
        return one or other
    reasoning = [each.reasoning_tokens for each in (one, other) if each.reasoning_tokens is not None]
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cache_read_tokens + other.cache_read_tokens,
        one.cache_creation_tokens + other.cache_creation_tokens,
        sum(reasoning) if reasoning else None,
        add_costs(one.cost, other.cost),
    )
