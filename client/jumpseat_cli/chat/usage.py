"""Summaries of the tokens, time and cost of turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def format_usage(usage: Mapping[str, Any], seconds: float, model: str = "") -> str:
    """Return the tokens, time, cost and model of one turn on one line.

    Args:
        usage: the wire object `usage`; empty if the provider reported none.
        seconds: the duration of the turn.
        model: the model as `provider:model`.
    """
    cost = usage.get("cost") or {}
    money = [format_money(cost["amount"], str(cost.get("currency", "")))] if "amount" in cost else []
    return " · ".join([*format_tokens(usage), format_duration(seconds), *money, *filter(None, [model])])


def format_tokens(usage: Mapping[str, Any]) -> Iterator[str]:
    """Yield the input and the output tokens; nothing if neither was reported."""
    if not usage.get("inputTokens") and not usage.get("outputTokens"):
        return
    cached, reasoning = usage.get("cacheReadTokens"), usage.get("reasoningTokens")
    yield f"{usage.get('inputTokens', 0):,} tokens in" + (f" ({cached:,} cached)" if cached else "")
    yield f"{usage.get('outputTokens', 0):,} out" + (f" ({reasoning:,} thinking)" if reasoning else "")


def format_duration(seconds: float) -> str:
    """Format a duration."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def format_money(amount: float, currency: str) -> str:
    """Format an amount; small amounts get more digits."""
    text = f"{amount:.{2 if amount >= 1 or amount == 0 else 4}f}"
    return f"${text}" if currency == "USD" else f"{text} {currency}".rstrip()
