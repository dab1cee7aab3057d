"""Capabilities of a provider, derived from its list of models."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.adapters.base.capabilities import capabilities_of
from jumpseat.chat import ModelInfo


def row(**facts: Any) -> ModelInfo:
    return ModelInfo(provider="p", model="m", name="m", family="m", version="m", **facts)


@pytest.mark.requirement("5:probe")
@pytest.mark.parametrize(
    ("vision", "capabilities"),
    [
        ([], {}),
        ([None], {}),
        ([True], {"vision": True}),
        ([False], {"vision": False}),
        ([False, None, True], {"vision": True}),
        ([False, None], {}),
    ],
)
def test_a_capability_is_true_if_one_model_has_it_and_false_if_all_lack_it(
    vision: list[bool | None], capabilities: dict[str, bool]
) -> None:
    assert capabilities_of([row(supports_vision=each) for each in vision]) == capabilities


def test_every_capability_that_a_list_can_give_is_read() -> None:
    one = row(supports_tool_use=True, supports_json=False, supports_vision=True, supports_thinking=False)
    assert capabilities_of([one]) == {
        "tool_calls": True,
        "json_mode": False,
        "vision": True,
        "thinking": False,
    }


def test_embedding_models_are_ignored() -> None:
    assert capabilities_of(
        [row(supports_tool_use=False, picker_enabled=False), row(supports_tool_use=True)]
    ) == {"tool_calls": True}
