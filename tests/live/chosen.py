"""The models that the live tests use: the cheapest one for each route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROUTES = ("/chat/completions", "/responses", "/v1/messages")

PREFERENCE = ("/v1/messages", "/responses", "/chat/completions")
"""The adapter's order of routes: a model with several routes is reached on the first."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A model, and the cost of one request."""

    id: str
    included: bool
    price: str


def choose(models: Sequence[Mapping[str, Any]], route: str, *, needs: str | None = None) -> Chosen | None:
    """Return the cheapest model on a route, or None if the route has no model.

    Args:
        models: the rows of `models/list`.
        route: one of `ROUTES`.
        needs: a key that must be true in the model's row.
    """
    usable = [row for row in models if _is_usable(row, route) and (needs is None or row.get(needs))]
    best = min(usable, key=_cost, default=None)
    if best is None:
        return None
    billing = best.get("billing") or {}
    cost = _cost(best)[0]
    if cost == 0:
        return Chosen(best["id"], True, "included in the plan")
    multiplier = billing.get("multiplier")
    price = "unknown" if multiplier is None else f"{multiplier:g} premium requests"
    return Chosen(best["id"], False, f"{price} for each question; see its billing, {billing}")


def _is_usable(row: Mapping[str, Any], route: str) -> bool:
    """Whether the model can be asked, and its requests use this route."""
    endpoints = row.get("endpoints") or ()
    first = next((each for each in PREFERENCE if each in endpoints), None)
    can_be_asked = (
        row.get("pickerEnabled") and row.get("policy") in (None, "enabled") and row["model"] != "auto"
    )
    return bool(can_be_asked) and first == route


def _cost(row: Mapping[str, Any]) -> tuple[float, bool, str]:
    """Return a key that sorts by cost: free models, then models with known prices, then all others."""
    billing = row.get("billing") or {}
    cost = float("inf")
    if billing.get("isPremium") is False or billing.get("multiplier") == 0:
        cost = 0.0
    elif billing.get("multiplier") is not None:
        cost = float(billing["multiplier"])
    elif isinstance(billing.get("tokenPrices"), Mapping):
        # This sum cannot be compared with multipliers, but no list of models contains both.
        cost = sum(_numbers(billing["tokenPrices"]))
    return cost, bool(row.get("preview")), str(row["id"])


def _numbers(value: Any) -> list[float]:
    """Return the prices in a price table, without its sizes."""
    if isinstance(value, Mapping):
        sizes = ("batch_size", "batchSize", "context_max", "contextMax")
        return [each for key, item in value.items() if key not in sizes for each in _numbers(item)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []
