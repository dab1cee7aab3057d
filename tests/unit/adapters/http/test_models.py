"""Lists of models in OpenAI's shape, with the fields that servers add."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.adapters.base import Capabilities
from jumpseat.adapters.http.models import read_models

# In each row, the first field takes precedence over the other one. The number is the expected length.
ROWS: list[tuple[dict[str, Any], int | None]] = [
    ({}, None),
    ({"meta": {"n_ctx_train": 1}}, 1),
    ({"max_context_length": 2, "meta": {"n_ctx_train": 1}}, 2),
    ({"context_window": 3, "max_context_length": 2}, 3),
    ({"context_length": 4, "context_window": 3}, 4),
    ({"top_provider": {"context_length": 5}, "context_length": 4}, 5),
    ({"max_model_len": 6, "top_provider": {"context_length": 5}}, 6),
    ({"loaded_context_length": 7, "max_model_len": 6}, 7),
    ({"meta": {"n_ctx": 8, "n_ctx_train": 1}, "loaded_context_length": 7}, 8),
]


@pytest.mark.parametrize(("row", "context"), ROWS)
def test_the_servers_context_precedes_the_context_of_the_training(
    row: dict[str, Any], context: int | None
) -> None:
    (model,) = read_models({"data": [{"id": "m", **row}]}, "acme", Capabilities())
    assert model.max_context_tokens == context


@pytest.mark.parametrize("key", ["max_completion_tokens", "max_output_tokens"])
def test_the_limit_of_an_answer_has_several_names(key: str) -> None:
    (model,) = read_models({"data": [{"id": "m", key: 9}]}, "acme", Capabilities())
    assert model.max_output_tokens == 9
