"""Summaries of the tokens, time and cost of turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def usage_line(usage: Mapping[str, Any], seconds: float, model: str = "") -> str:
    """Return the tokens, time, cost and model of one turn on one line.

    Args:
        usage: the wire object `usage`; empty if the provider reported none.
        seconds: the duration of the turn.
        model: the model as `provider:model`.
    """
    cost = usage.get("cost") or {}
    money = [money_of(cost["amount"], str(cost.get("currency", "")))] if "amount" in cost else []
    return " · ".join([*tokens_of(usage), time_of(seconds), *money, *filter(None, [model])])


def tokens_of(usage: Mapping[str, Any]) -> Iterator[str]:
    """Yield the input and the output tokens; nothing if neither was reported."""
    if not usage.get("inputTokens") and not usage.get("outputTokens"):
        return
    cached, reasoning = usage.get("cacheReadTokens"), usage.get("reasoningTokens")
    yield f"{usage.get('inputTokens', 0):,} tokens in" + (f" ({cached:,} cached)" if cached else "")
    yield f"{usage.get('outputTokens', 0):,} out" + (f" ({reasoning:,} thinking)" if reasoning else "")


def time_of(seconds: float) -> str:
    """Format a duration."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def money_of(amount: float, currency: str) -> str:
    """Format an amount; small amounts get more digits."""
    text = f"{amount:.{2 if amount >= 1 or amount == 0 else 4}f}"
    return f"${text}" if currency == "USD" else f"{text} {currency}".rstrip()
