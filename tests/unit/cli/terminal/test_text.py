"""Control sequences are removed wherever the text is split, and the text after them is not lost."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat_cli.terminal.text import SWALLOW_LIMIT, ControlSequenceFilter, clean, clean_line
from tests.fakes.escapes import ESCAPES

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean_in_pieces(text: str, *cuts: int) -> str:
    places = [0, *cuts, len(text)]
    screen = ControlSequenceFilter()
    return "".join(screen.feed(text[a:b]) for a, b in pairwise(places))


@pytest.mark.parametrize(("hostile", "text"), [*ESCAPES, ("a\0b", "ab")])
def test_sequences_are_stripped_at_any_split(hostile: str, text: str) -> None:
    assert clean(hostile) == text
    assert clean_in_pieces(hostile, *range(1, len(hostile))) == text
    for cut in range(len(hostile)):
        assert clean_in_pieces(hostile, cut) == text


@pytest.mark.parametrize(
    "start", ["\x1b]0;", "\x1bP", "\x9d", "\x1b_", "\x1b[", "\x9b", "\x1b ", "\x1b]\x1b]"]
)
def test_an_endless_sequence_hides_only_a_little_text(start: str) -> None:
    filler = "1" if start in ("\x1b[", "\x9b") else " "
    answer = filler * 1000 + "the rest"

    kept = clean(start + answer)
    assert kept.endswith("the rest")
    assert len(answer) - len(kept) <= SWALLOW_LIMIT


def test_a_chain_of_unfinished_sequences_hides_only_a_little_text() -> None:
    assert len(clean("\x1b]x" * 1000 + "the rest")) >= len("the rest")
    assert clean("\x1b]x" * 1000 + "y" * SWALLOW_LIMIT + "the rest").endswith("the rest")


def test_the_next_line_is_never_lost() -> None:
    assert clean("\x1b]0;never ends\nthe next line") == "\nthe next line"


def test_a_line_is_one_line() -> None:
    assert clean_line("a\n\n \x1b[1mb\tc ") == "a b c"


alphabet = st.sampled_from("\x1b\x9b\x9d\x9c\x07[]P;0m\\ a\né\r\x90")


@given(st.text(alphabet) | st.text(), st.data())
def test_no_forbidden_character_comes_out_at_any_split(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))

    assert not FORBIDDEN.search(clean(text))
    assert clean_in_pieces(text, cut) == clean(text)


@given(st.text().filter(lambda text: not FORBIDDEN.search(text)))
def test_plain_text_is_never_changed(text: str) -> None:
    assert clean(text) == text
