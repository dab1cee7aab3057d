"""The default model of an account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from jumpseat.adapters.github.default_model import choose_default, cost, default_model
from jumpseat.chat import Billing, ModelInfo


def model(name: str, **facts: Any) -> ModelInfo:
    return ModelInfo(provider="p", model=name, name=name, family=name, version=name, **facts)


def model_with_prices(prices: Mapping[str, Any]) -> ModelInfo:
    return model("m", billing=Billing(token_prices={"default": prices}))


def test_the_default_of_the_service_comes_first_if_the_account_may_use_it() -> None:
    models = [model("a"), model("b", policy="unconfigured"), model("c", policy="enabled")]

    assert choose_default(models, ("b", "c")) is models[2]
    assert choose_default(models, ("", "a")) is models[0]


def test_without_a_usable_default_the_cheapest_model_in_pickers_is_used() -> None:
    dear, cheap = Billing(multiplier=1.0), Billing(multiplier=0.0)
    models = [
        model("hidden", billing=cheap, picker_enabled=False),
        model("preview", billing=cheap, preview=True),
        model("dear", billing=dear),
        model("cheap", billing=cheap),
    ]

    assert choose_default(models, ("gone",)) is models[3]
    assert choose_default([model("a", policy="disabled")], ()) is None


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ({"input_price": 0, "output_price": 0}, 0),
        ({"input_price": 2, "output_price": 8}, 10),
        ({"inputPrice": 0, "outputPrice": 5}, 5),
        ({"output_price": float("inf"), "input_price": "2"}, 1),
        ({}, 1),
    ],
)
def test_token_prices_are_compared_in_both_spellings(prices: Mapping[str, Any], expected: float) -> None:
    assert cost(model_with_prices(prices)) == expected


def test_an_unknown_price_counts_as_one() -> None:
    assert cost(model("m")) == 1
    assert cost(model("m", billing=Billing())) == 1


def test_the_default_is_the_model_that_is_marked() -> None:
    assert default_model([model("a"), model("b", is_default=True)]) == "b"
    assert default_model([model("a")]) is None
