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
    "cancelled",
    "error",
]
"""Why an answer ended. `cancelled` and `error` only occur in the last event of a failed turn."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a turn as reported by the provider."""

    amount: float
    currency: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one turn. `input_tokens` includes cached tokens, `output_tokens` includes reasoning."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    reasoning_tokens: int | None = None
    cost: Cost | None = None
