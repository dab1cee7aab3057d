"""The default model of a Copilot account, from models with terms and prices.

Serves both adapters for Copilot, whose lists say the same in two spellings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jumpseat.chat import ModelInfo
from jumpseat.dialects.loose_values import mapping_in, number_in

_PRICES = ("input_price", "output_price", "inputPrice", "outputPrice")


def default_model(models: Iterable[ModelInfo]) -> str | None:
    """The name of the row that is marked as the default."""
    return next((model.model for model in models if model.is_default), None)


def choose_default(models: Iterable[ModelInfo], named: Sequence[str]) -> ModelInfo | None:
    """The first of these names that can be used, else the cheapest model that pickers show.

    Args:
        models: the list.
        named: the models that the service marks as default and fallback; "" where it marks none.
    """
    usable = [model for model in models if can_be_used(model)]
    for name in filter(None, named):
        for model in usable:
            if model.model == name:
                return model
    return min(usable, key=lambda model: (not model.picker_enabled, model.preview, cost(model)), default=None)


def can_be_used(model: ModelInfo) -> bool:
    """Whether no terms and no policy keep the account from the model."""
    return model.policy in (None, "enabled")


def cost(model: ModelInfo) -> float:
    """A number to compare prices by; an unknown price counts as high."""
    billing = model.billing
    if billing is None:
        return 1.0
    if billing.multiplier is not None:
        return billing.multiplier
    prices = mapping_in((billing.token_prices or {}).get("default"))
    known = [price for key in _PRICES if (price := number_in(prices.get(key))) is not None]
    return sum(known) if known else 1.0
