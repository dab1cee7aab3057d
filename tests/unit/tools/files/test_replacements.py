"""Passages are replaced regardless of line endings, and large diffs are shortened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.tools.files.replacements import CONTEXT, MAX_DIFF, Replacement, replace_all, replace_once
from jumpseat.tools.files.text import normalize
from jumpseat.tools.server import ToolError

pytestmark = pytest.mark.requirement("12:files-line-endings")


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\nb\nc", "b", "B", "a\nB\nc"),
        ("a\r\nb\r\nc\r\n", "a\nb", "A\nA\nB", "A\r\nA\r\nB\r\nc\r\n"),
        ("a\r\nb\r\nc", "c", "c\n", "a\r\nb\r\nc\r\n"),
        ("a\nb\n", "a\r\nb\r\n", "x\r\n", "x\n"),
        ("a\rb\r", "b\n", "c\n", "a\rc\r"),
        # In a text with mixed line endings, only the passage gets other line endings.
        ("1\r\n2\n3\r\n4\r\n5\n6\n", "4\n5", "four\nfive\n", "1\r\n2\n3\r\nfour\r\nfive\r\n\n6\n"),
        ("one line", "one", "two\nnew", "two\nnew line"),
        ("a", "a", "", ""),
    ],
)
def test_a_passage_is_compared_and_written_with_the_line_endings_of_the_text(
    text: str, old: str, new: str, after: str
) -> None:
    assert replace_once(text, old, new, "f").after == after


@given(
    st.lists(st.sampled_from(["a", "b", "✓", "\n", "\r\n", "\r"]), max_size=30).map("".join),
    st.integers(0, 30),
    st.integers(1, 10),
)
def test_everything_outside_the_passage_stays_byte_for_byte(text: str, start: int, length: int) -> None:
    plain = normalize(text)
    old = plain[start : start + length]
    if not old or plain.find(old) != start or plain.find(old, start + 1) >= 0:
        return
    replacement = replace_once(text, old, "NEW", "f")

    assert normalize(text[: replacement.start]) == plain[:start]
    assert normalize(text[replacement.start : replacement.end]) == old
    assert replacement.after == f"{text[: replacement.start]}NEW{text[replacement.end :]}"


@pytest.mark.requirement("12:files-edit")
@pytest.mark.parametrize(
    ("text", "old", "new", "reason"),
    [
        ("abc", "x", "y", "does not occur in f"),
        ("a a", "a", "b", "more than once in f"),
        ("aaa", "aa", "b", "more than once in f"),
        ("abc", "b", "b", "nothing would change"),
        ("a\r\nb", "a\nb", "a\r\nb", "nothing would change"),
    ],
)
def test_a_passage_that_cannot_be_replaced_is_an_error_that_says_why(
    text: str, old: str, new: str, reason: str
) -> None:
    with pytest.raises(ToolError, match=reason):
        replace_once(text, old, new, "f")


def test_a_whole_text_is_replaced_with_the_line_endings_of_the_old_one() -> None:
    assert replace_all("a\r\nb", "c\nd\n").after == "c\r\nd\r\n"
    assert replace_all("", "c\r\nd").after == "c\r\nd"
    with pytest.raises(ToolError, match="already has this text"):
        replace_all("a\r\n", "a\n")


@pytest.mark.requirement("12:files-diff")
def test_a_diff_has_both_texts_unless_they_are_large() -> None:
    assert replace_once("a\r\nb\r\n", "b", "c\n", "f").show() == ("a\nb\n", "a\nc\n\n")


@pytest.mark.requirement("12:files-diff")
def test_the_diff_of_a_large_text_shows_the_change_and_says_what_it_left_out() -> None:
    lines = [f"line {number}\n" for number in range(100_000)]
    text = "".join(lines)
    old, new = replace_once(text, "line 50000\n", "another\n", "f").show()

    assert len(old) < 3 * CONTEXT
    assert old.replace("line 50000\n", "another\n") == new
    head, *_, tail = old.splitlines()
    left_out = [int(each.split()[1]) for each in (head, tail)]
    shown = old.removeprefix(f"{head}\n").removesuffix(f"{tail}\n")
    assert shown in text
    assert sum(left_out) + len(shown) == len(text)


@pytest.mark.requirement("12:files-diff")
def test_the_middle_of_a_large_passage_is_left_out_of_the_diff() -> None:
    text = "a" * 50_000_000
    old, new = Replacement(text, 0, len(text), "new").show()

    assert len(old) < MAX_DIFF + 100
    assert f"{len(text) - MAX_DIFF} characters were left out" in old
    assert new == "new"
