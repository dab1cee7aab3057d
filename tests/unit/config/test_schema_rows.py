"""Settings rows in the configuration file: their faults, and the place of their values in requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.config import SettingRow, chat_params, load_config, map_to_body

pytestmark = pytest.mark.requirement("5:settings-schema")


def faults(tmp_path: Path, *lines: str) -> list[str]:
    file = tmp_path / "config.toml"
    file.write_text("\n".join(["[providers.x.settings.t]", *lines]), "utf-8")
    return [
        str(fault).removeprefix(f"{file}:")
        for each in load_config(file, None).faults.values()
        for fault in each
    ]


@pytest.mark.requirement("7:file-errors")
@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (['type = "enum"'], "choices are missing; an enum must have at least one"),
        (['type = "enum"', "choices = []"], "choices are missing; an enum must have at least one"),
        (['type = "string"', "choices = []"], "choices must not be empty"),
        (['type = "string"', 'choices = ["a", 1]'], "choices.1 must be of type string"),
        (['type = "integer"', "choices = [1, 9]", "maximum = 5"], "choices.1 must be at most 5"),
        (['type = "number"', "minimum = 2", "maximum = 1"], "minimum (2) is above maximum (1)"),
        (['type = "number"', "minimum = nan"], "minimum and maximum must be finite numbers"),
        (['type = "string"', "maximum = 1"], "minimum and maximum are for numbers, not for type string"),
        (['type = "integer"', 'default = "1"'], "default must be of type integer"),
        (['type = "number"', "maximum = 1", "default = 2"], "default must be at most 1"),
        (['type = "enum"', 'choices = ["a"]', 'default = "b"'], "default must be one of a"),
    ],
)
def test_a_row_with_inconsistent_rules_is_a_fault_when_the_file_is_read(
    tmp_path: Path, lines: list[str], rule: str
) -> None:
    assert faults(tmp_path, *lines) == [f"1: providers.x.settings.t: {rule}"]


@pytest.mark.parametrize("mapping", ["", "body", "parameters.", "parameters..a", "headers"])
def test_an_invalid_mapping_is_a_fault(tmp_path: Path, mapping: str) -> None:
    (fault,) = faults(tmp_path, 'type = "string"', f'mapping = "{mapping}"')
    assert fault.startswith("3: providers.x.settings.t.mapping: must be chat, parameters, or a path")


def test_only_some_settings_map_to_params_of_a_chat(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, 'type = "string"', 'mapping = "chat"')
    assert fault == "1: providers.x.settings: t cannot have the mapping chat; only max_tokens, thinking can"


def rows(**mappings: str) -> dict[str, SettingRow]:
    return {key: SettingRow(type="map", mapping=mapping) for key, mapping in mappings.items()}


@pytest.mark.parametrize(
    ("mappings", "values", "body"),
    [
        ({"a": "parameters"}, {"a": 1}, {"a": 1}),
        ({"a": "parameters.x.y"}, {"a": 1}, {"x": {"y": {"a": 1}}}),
        ({"a": "parameters.x", "b": "parameters.x"}, {"a": 1, "b": 2}, {"x": {"a": 1, "b": 2}}),
        ({"x": "parameters", "a": "parameters.x"}, {"x": {"b": 2}, "a": 1}, {"x": {"b": 2, "a": 1}}),
        ({"a": "parameters.x", "x": "parameters"}, {"a": 1, "x": {"b": 2}}, {"x": {"b": 2, "a": 1}}),
        ({"x": "parameters", "a": "parameters.x"}, {"x": 3, "a": 1}, {"x": {"a": 1}}),
    ],
)
def test_a_value_is_sent_where_its_row_maps_it(
    mappings: dict[str, str], values: dict[str, Any], body: dict[str, Any]
) -> None:
    given = {key: dict(value) if isinstance(value, dict) else value for key, value in values.items()}

    assert map_to_body(values, rows(**mappings)) == body
    assert values == given, "the saved value was changed"


def test_a_row_for_a_param_of_the_chat_is_not_sent_in_the_body() -> None:
    schema = rows(max_tokens="chat", thinking="parameters")

    assert chat_params({"max_tokens": 5, "thinking": 1}, schema) == {"max_tokens": 5}
    assert map_to_body({"max_tokens": 5, "thinking": 1}, schema) == {"thinking": 1}


def test_true_does_not_match_the_choice_1() -> None:
    row = SettingRow(type="enum", choices=[1, 2])
    assert [row.problem_with(value) for value in (1, True)] == [None, "must be one of 1, 2"]
