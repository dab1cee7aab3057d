"""Helpers for the rows of the daemon's lists of providers, models and tool servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

USABLE = ("signed_in", "configured", "not_required")
"""The authentication states in which a chat can be tried."""

NO_SERVERS = "There are no MCP servers. To add one, write a table [mcp.NAME] in the configuration file."

_PRICES = ("input_price", "output_price", "inputPrice", "outputPrice")


def is_mcp_server(row: Mapping[str, Any]) -> bool:
    """Whether a server of `tools/list` comes from a configuration, and not from jumpseat or a plug-in."""
    return row.get("origin") != "builtin"


def describe_state(server: Mapping[str, Any]) -> str:
    """Describe the state of a server of `tools/list` in a sentence, with the next step."""
    name, state, error = server["name"], server["state"], str(server.get("error") or "").strip()
    match state:
        case "stopped":
            return f"{name} is stopped; it starts when a chat uses it."
        case "untrusted":
            return f"{name} is not trusted. To see and trust it: jumpseat mcp trust --overlay FILE {name}"
        case "needs_sign_in":
            return f"{name} needs a sign-in: jumpseat mcp login {name}"
        case "failed":
            return f"{name} has failed{f': {error}' if error else '.'}"
    return f"{name} is {state}."


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
    """Return the prices of input and output, each for a batch of tokens, in the provider's own unit."""
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
