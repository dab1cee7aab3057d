"""Why a turn stopped, and the tokens and the money it took."""

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
"""`cancelled` and `error` stand only in the last event of a turn that ends in an error."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the provider said the turn cost."""

    amount: float
    currency: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one turn: `input_tokens` counts cached ones too, `output_tokens` reasoning too."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    reasoning_tokens: int | None = None
    cost: Cost | None = None
