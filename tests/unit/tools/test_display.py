"""Texts for the person who approves a call: nothing is hidden."""

from __future__ import annotations

import json

import pytest

from jumpseat.tools.display import (
    MAX_ARGUMENTS,
    MAX_TITLE,
    escape,
    make_title,
    show_arguments,
    summarize_call,
)

pytestmark = pytest.mark.requirement("12:approval-shows")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Grüße 日本", "Grüße 日本"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb", "a\\u200bb"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\r\nb", "a\\r\\nb"),
        ("a\u2028b", "a\\u2028b"),
        ("a\U000e0041b", "a\\U000e0041b"),
        ("a\ud800b", "a\\ud800b"),
    ],
)
def test_characters_that_could_hide_text_are_escaped(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_a_title_is_one_short_line_with_its_beginning_and_end() -> None:
    title = make_title("Run " + "\u202e" * 10_000 + "\nrm -rf end")

    assert len(title) <= MAX_TITLE
    assert "\n" not in title
    assert title.startswith("Run \\u202e")
    assert title.endswith("rm -rf end")


def test_long_arguments_are_shortened_with_their_length() -> None:
    shown = show_arguments({"text": "a" * 1_000_000, "path": "x"})

    assert shown["path"] == "x"
    assert len(shown["text"]) < 2100
    assert "(1000000 characters)" in shown["text"]


def test_many_arguments_together_stay_small() -> None:
    shown = show_arguments({f"key{n}": ["x" * 5000] * 50 for n in range(500)})

    assert len(json.dumps(shown)) < 4 * MAX_ARGUMENTS
    assert shown["…"] == "300 more"


def test_line_endings_of_arguments_are_kept_and_other_control_characters_escaped() -> None:
    assert show_arguments({"a": "x\n\ty\r\u202e", "n": [1, None, True, {"b": 2.5}]}) == {
        "a": "x\n\ty\\r\\u202e",
        "n": [1, None, True, {"b": 2.5}],
    }


def test_arguments_whose_names_look_equal_are_all_shown() -> None:
    cut = [f"{'a' * 4000}{letter}{'a' * 4000}" for letter in "bc"]
    shown = show_arguments({"\u202e": 1, "\\u202e": 2, cut[0]: 3, cut[1]: 4})

    assert list(shown.values()) == [1, 2, 3, 4]
    assert list(shown)[:2] == ["\\u202e", "\\u202e (2)"]


def test_deeply_nested_arguments_are_shortened() -> None:
    deep: object = "end"
    for _ in range(600):
        deep = [deep]

    assert "(1 items)" in json.dumps(show_arguments({"deep": deep}), ensure_ascii=False)


def test_a_call_is_summarized_with_its_arguments() -> None:
    assert summarize_call("shed", "dig", {"depth": 2}) == 'shed/dig {"depth":2}'
    assert summarize_call("shed", "dig", {}) == "shed/dig"
