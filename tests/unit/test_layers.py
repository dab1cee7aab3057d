"""The checks of imports that every language shares."""

from __future__ import annotations

import pytest

from tests.unit.layers import Imports, find_cycle, find_layer_faults

ORDER = ("low", "high")
LAYERS = {"a": "low", "b": "low", "c": "high"}


def test_a_cycle_through_other_modules_is_found() -> None:
    assert set(find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_libraries_and_a_module_that_names_itself_are_not_a_cycle() -> None:
    assert find_cycle({"a": {"a", "library"}, "b": {"a"}}) == []


def test_imports_within_a_layer_and_of_lower_ones_are_allowed() -> None:
    assert find_layer_faults({"a": {"b"}, "b": {"library"}, "c": {"a"}}, LAYERS, ORDER) == []


@pytest.mark.parametrize(
    ("imports", "fault"),
    [
        ({"a": {"c"}, "b": (), "c": ()}, "a imports c, but high is above low"),
        ({"a": (), "b": (), "c": (), "d": ()}, "d has no layer"),
        ({"a": (), "c": ()}, "b does not exist"),
    ],
)
def test_a_fault_of_the_modules_is_described(imports: Imports, fault: str) -> None:
    assert find_layer_faults(imports, LAYERS, ORDER) == [fault]


@pytest.mark.parametrize(
    ("order", "fault"),
    [
        (("low",), "high has no place in the order"),
        (("low", "middle", "high"), "middle is empty"),
    ],
)
def test_a_fault_of_the_order_is_described(order: tuple[str, ...], fault: str) -> None:
    assert find_layer_faults({"a": (), "b": (), "c": ()}, LAYERS, order) == [fault]
