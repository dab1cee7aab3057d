"""The default model of a Copilot account, shared by both Copilot adapters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jumpseat.chat import ModelInfo
from jumpseat.dialects.loose_values import mapping_in, number_in

# The Copilot API uses snake case, the language server camel case.
_PRICES = ("input_price", "output_price", "inputPrice", "outputPrice")


def default_model(models: Iterable[ModelInfo]) -> str | None:
    """Return the name of the model marked as the default."""
    return next((model.model for model in models if model.is_default), None)


def choose_default(models: Iterable[ModelInfo], named: Sequence[str]) -> ModelInfo | None:
    """Return the first usable model among `named`, or else the best other usable model.

    The best model is chosen by three criteria, in this order: shown in pickers rather than hidden, final
    rather than a preview, and the lowest price.

    Args:
        models: the account's models.
        named: the names of the models that the service marks as default and fallback; empty strings are
            skipped.
    """
    usable = [model for model in models if can_be_used(model)]
    for name in filter(None, named):
        for model in usable:
            if model.model == name:
                return model
    return min(usable, key=lambda model: (not model.picker_enabled, model.preview, cost(model)), default=None)


def can_be_used(model: ModelInfo) -> bool:
    """Whether the account may use the model: its terms are accepted, and no policy disables it."""
    return model.policy in (None, "enabled")


def cost(model: ModelInfo) -> float:
    """Return the multiplier, or else the sum of the token prices, for comparisons; 1 if neither is known."""
    billing = model.billing
    if billing is None:
        return 1.0
    if billing.multiplier is not None:
        return billing.multiplier
    prices = mapping_in((billing.token_prices or {}).get("default"))
    known = [price for key in _PRICES if (price := number_in(prices.get(key))) is not None]
    return sum(known) if known else 1.0
