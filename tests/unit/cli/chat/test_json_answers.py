"""JSON answers are checked against the requested form."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat_cli.chat.json_answers import MAX_REASON_CHARACTERS, fault_of_answer, fault_of_schema

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "born": {"type": "integer"}},
    "required": ["name"],
}


def fault(text: str, output_mode: Any = "json", **more: Any) -> str | None:
    """Return what is wrong with an answer of this text; None if nothing is."""
    return fault_of_answer(output_mode, {"text": text, "stopReason": "end_turn", "toolCalls": [], **more})


@pytest.mark.parametrize("text", ["{}", " [1, 2]\n", '"x"', "null", "0"])
def test_any_json_value_is_json(text: str) -> None:
    assert fault(text) is None


@pytest.mark.parametrize("text", ["", "Here it is: {}", "```json\n{}\n```", '{"name": "A', "NaN", "{} {}"])
def test_prose_and_cut_off_text_are_not_json(text: str) -> None:
    assert str(fault(text)).startswith("The answer is not JSON: ")
    assert str(fault(text, {"schema": PERSON})).startswith("The answer is not JSON: ")


def test_json_that_reached_a_limit_is_reported_as_incomplete() -> None:
    assert fault("12", stopReason="max_tokens") == "The answer is incomplete (max_tokens)."


def test_an_answer_that_does_not_match_the_schema_is_reported() -> None:
    mode = {"schema": PERSON}

    assert fault('{"name": "Ada", "more": 1}', mode) is None
    assert (
        fault('{"name": 1}', mode)
        == "The answer does not match the schema: $.name: 1 is not of type 'string'."
    )
    assert fault("{}", mode) == "The answer does not match the schema: $: 'name' is a required property."
    long = str(fault(f'{{"name": ["{"x" * 1000}"]}}', mode))
    assert len(long) < MAX_REASON_CHARACTERS + 60


def test_any_text_is_accepted_without_an_output_mode_or_with_tool_calls() -> None:
    assert fault("Hello", None) is None
    assert fault("", "json", toolCalls=[{"name": "f"}], stopReason="tool_use") is None


def test_a_reference_is_resolved_in_the_schema_and_never_fetched() -> None:
    inside = {"$defs": {"name": {"type": "string"}}, "$ref": "#/$defs/name"}
    outside = {"$ref": "http://127.0.0.1:9/person.json"}

    assert fault('"x"', {"schema": inside}) is None
    assert fault("1", {"schema": inside}) is not None
    assert fault("1", {"schema": outside}) == (
        "The answer cannot be checked: the schema has no http://127.0.0.1:9/person.json."
    )


def test_json_that_is_nested_too_deeply_cannot_be_checked() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert fault(deep) == "The answer cannot be checked: its JSON is nested too deeply."


def test_an_invalid_schema_is_reported() -> None:
    assert fault_of_schema(PERSON) is None
    assert fault_of_schema({"type": "text"}) == "$.type: 'text' is not valid under any of the given schemas."
