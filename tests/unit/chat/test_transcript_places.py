"""The places of the keys in front matter."""

from __future__ import annotations

import pytest

from jumpseat.chat import Position, Range
from jumpseat.chat.transcript import FrontMatterError, LinePart, parse_front_matter, split_lines

pytestmark = pytest.mark.requirement("5:transcript-check")


def text_at_places(text: str) -> dict[str, str]:
    """Return the text at the place of each key."""
    lines = split_lines(text)
    places = parse_front_matter(text).places
    return {path: lines[place.line][place.start : place.end] for path, place in places.items()}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_place_of_a_key_includes_its_value_on_the_same_line(end: str) -> None:
    text = (
        "---\nmodel: m # mine\nconversation: 7\nx: 'a b'\nsystem: |\n  One.\n  Two.\nsettings:\n  a: 1\n"
        "  'b': {c: 2}\n  d:\n    - 1\n    - 2\nempty:\n---\n\nHi.\n"
    )

    assert text_at_places(text.replace("\n", end)) == {
        "model": "model: m",
        "conversation": "conversation: 7",
        "settings.x": "x: 'a b'",
        "system": "system: |",
        "settings": "settings:",
        "settings.a": "a: 1",
        "settings.b": "'b': {c: 2}",
        "settings.d": "d:",
    }


def test_a_mapping_on_one_line_has_places_too() -> None:
    assert text_at_places("---\nsettings: {a: 1, b: [2, 3]}\n---\n") == {
        "settings": "settings: {a: 1, b: [2, 3]}",
        "settings.a": "a: 1",
        "settings.b": "b: [2, 3]",
    }


def test_a_range_counts_utf_16_and_ends_with_the_line() -> None:
    lines = ["é🙂: 1  \t", ""]

    assert LinePart(0, 0, 2).to_range(lines) == Range(Position(0, 0), Position(0, 3))
    assert LinePart(0, 1).to_range(lines) == Range(Position(0, 1), Position(0, 6))
    assert LinePart(1).to_range(lines) == Range(Position(1, 0), Position(1, 0))
    assert LinePart(7).to_range(lines) == Range(Position(7, 0), Position(7, 0))


def test_a_fault_has_its_line_and_its_problem() -> None:
    with pytest.raises(FrontMatterError) as caught:
        parse_front_matter("---\nx: 1\nsettings:\n  y: 1\n  x: 2\n---\n")

    assert (caught.value.line, caught.value.problem) == (4, "the setting x occurs twice")
    assert caught.value.message == "text: line 5: the setting x occurs twice"
