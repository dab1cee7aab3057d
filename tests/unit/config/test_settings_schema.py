"""Rows of a settings schema: the values that they accept, and the errors for other values."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from jumpseat.chat import Problem
from jumpseat.config import SettingRow, check_settings


def row(kind: str, **rules: Any) -> SettingRow:
    return SettingRow.model_validate({"type": kind, **rules})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", ""),
        ("number", 1),
        ("number", 1.5),
        ("integer", -3),
        ("boolean", False),
        ("list", []),
        ("list", ["a", 1]),
        ("map", {}),
        ("map", {"a": 1}),
    ],
)
def test_a_value_of_the_rows_type_is_accepted(kind: str, value: Any) -> None:
    assert row(kind).problem_with(value) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", 1),
        ("string", None),
        ("number", "1"),
        ("number", True),
        ("integer", 1.0),
        ("integer", False),
        ("boolean", 0),
        ("boolean", "true"),
        ("list", "ab"),
        ("list", {"a": 1}),
        ("map", []),
        ("map", "a"),
    ],
)
def test_a_value_of_another_type_is_refused(kind: str, value: Any) -> None:
    assert row(kind).problem_with(value) == f"must be of type {kind}"


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_a_setting_outside_its_limits_is_refused(kind: str) -> None:
    limited = row(kind, minimum=0, maximum=2)

    assert [limited.problem_with(value) for value in (0, 1, 2)] == [None, None, None]
    assert limited.problem_with(3) == "must be at most 2"
    assert limited.problem_with(-1) == "must be at least 0"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_support_is_refused(value: float) -> None:
    assert row("number").problem_with(value) == "must be a finite number"
    assert row("integer").problem_with(10**400) is None


@pytest.mark.parametrize("kind", ["enum", "string"])
def test_a_setting_outside_its_choices_is_refused(kind: str) -> None:
    chosen = row(kind, choices=["low", "high"])

    assert chosen.problem_with("low") is None
    assert chosen.problem_with("medium") == "must be one of low, high"


def test_a_choice_may_be_a_number() -> None:
    assert row("enum", choices=[1, 2]).problem_with(2) is None
    assert row("integer", choices=[1, 2]).problem_with(3) == "must be one of 1, 2"


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValidationError):
        row("colour")


@pytest.mark.requirement("2:settings")
def test_every_problem_names_its_key_and_its_rule() -> None:
    rows = {"temperature": row("number", maximum=2), "mode": row("enum", choices=["a"])}

    assert check_settings(rows, {"temperature": 1, "mode": "a"}) == []
    assert check_settings(rows, {"temperature": 3, "mode": "b", "colour": 1}) == [
        Problem("settings.temperature", "must be at most 2"),
        Problem("settings.mode", "must be one of a"),
        Problem("settings.colour", "is not a setting of this provider; available: temperature, mode"),
    ]
    assert "it has none" in check_settings({}, {"x": 1})[0].message
