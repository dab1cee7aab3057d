"""Helpers for the rows of the daemon's lists of providers and models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

USABLE = ("signed_in", "configured", "not_required")
"""The authentication states in which a chat can be tried."""

_PRICES = ("input_price", "output_price", "inputPrice", "outputPrice")


def has_sign_in(row: Mapping[str, Any]) -> bool:
    """Whether `jumpseat login` works for a row of `providers/list`."""
    return row.get("authMethod") == "device_code"


def is_included(model: Mapping[str, Any]) -> bool | None:
    """Whether a request costs nothing beyond the plan; None if the provider does not report it."""
    multiplier = (model.get("billing") or {}).get("multiplier")
    if multiplier is not None:
        return bool(multiplier == 0)
    prices = prices_of(model)
    return not any(prices) if prices else None


def prices_of(model: Mapping[str, Any]) -> list[float]:
    """Return the prices of a batch of input tokens and of output tokens, in the provider's own unit."""
    prices = ((model.get("billing") or {}).get("tokenPrices") or {}).get("default")
    if not isinstance(prices, Mapping):
        return []
    return [price for key in _PRICES if isinstance(price := prices.get(key), int | float)]


def short_count(tokens: Any) -> str:
    """Abbreviate a number of tokens, such as `128k` or `1.05M`; return an empty string for anything else."""
    if not isinstance(tokens, int):
        return ""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens // 1000}k" if tokens >= 10_000 else str(tokens)
