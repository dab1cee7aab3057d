"""Ranges of lines are taken from texts that come in pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jumpseat.tools.files.lines import Excerpt, take_lines

TEXT = "one\ntwo\nthree\nfour"


def test_a_range_of_lines_is_taken() -> None:
    assert take_lines([TEXT], 2, 3, 100, count_all=True) == Excerpt("two\nthree\n", 3, False, 4)
    assert take_lines([TEXT], 3, None, 100, count_all=True) == Excerpt("three\nfour", 4, False, 4)
    assert take_lines([TEXT], 9, None, 100, count_all=True) == Excerpt("", 8, False, 4)


def test_as_many_whole_lines_as_fit_are_taken() -> None:
    assert take_lines([TEXT], 1, None, 9, count_all=True) == Excerpt("one\ntwo\n", 2, False, 4)
    assert take_lines(["one\ntw", "o more"], 1, None, 9, count_all=True) == Excerpt("one\n", 1, False, 2)


def test_a_first_line_that_is_too_long_is_cut_between_characters() -> None:
    assert take_lines(["ab✓", "✓\nnext"], 1, None, 7, count_all=True) == Excerpt("ab✓", 1, True, 2)


def test_the_rest_of_a_text_is_not_read_if_its_lines_are_not_counted() -> None:
    def pieces() -> object:
        yield "one\ntwo\n"
        yield "three\n"
        raise AssertionError

    excerpt = take_lines(pieces(), 2, 2, 100, count_all=False)
    assert excerpt == Excerpt("two\n", 2, False, None)


def test_an_empty_text_has_no_lines() -> None:
    assert take_lines([], 1, None, 10, count_all=True) == Excerpt("", 0, False, 0)
    assert take_lines(["", ""], 1, None, 10, count_all=False) == Excerpt("", 0, False, 0)


@given(
    st.lists(st.text("ab\n✓", max_size=5), max_size=12),
    st.integers(1, 8),
    st.one_of(st.none(), st.integers(1, 8)),
    st.booleans(),
)
def test_an_excerpt_does_not_depend_on_the_pieces_of_the_text(
    pieces: list[str], first: int, last: int | None, count_all: bool
) -> None:
    text = "".join(pieces)
    lines = text.split("\n")
    rows = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    excerpt = take_lines(pieces, first, last, 1000, count_all=count_all)

    assert excerpt.text == "".join(rows[first - 1 : last])
    assert excerpt.total in ({len(rows)} if count_all else {len(rows), None})


@given(st.text("ab\n✓", max_size=40), st.integers(1, 30), st.integers(1, 7))
def test_the_size_of_an_excerpt_is_bounded(text: str, max_bytes: int, size: int) -> None:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    excerpt = take_lines(pieces, 1, None, max_bytes, count_all=True)

    assert len(excerpt.text.encode()) <= max_bytes
    assert text.startswith(excerpt.text)
    assert excerpt.is_cut or excerpt.text.count("\n") == excerpt.last or excerpt.text == text
