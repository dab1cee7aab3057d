"""Ranges of lines in file arguments."""

from __future__ import annotations

import pytest

from jumpseat_cli.files.lines import CannotUse, cut_range, split_range

TEXT = "one\ntwo \x0c\nthree"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("1", "one\n"),
        ("1-1", "one\n"),
        ("2-3", "two \x0c\nthree"),
        ("2-", "two \x0c\nthree"),
        ("1-3", TEXT),
    ],
)
def test_a_range_of_lines_follows_the_name(part: str, text: str) -> None:
    name, lines = split_range(f"a:b\n.txt:{part}")
    assert name == "a:b\n.txt"
    assert lines is not None
    before, named, after = map("".join, cut_range(TEXT, lines, name))

    assert named == text
    assert before + named + after == TEXT


@pytest.mark.parametrize("argument", ["a.txt", "a.txt:", "a.txt:x", "a.txt:-3", ":3", "a.txt:3-4-5"])
def test_an_ending_that_is_not_a_range_belongs_to_the_name(argument: str) -> None:
    assert split_range(argument) == (argument, None)


@pytest.mark.parametrize(
    ("part", "text", "fault"),
    [
        ("0", TEXT, "a has 3 lines; line 0 does not exist."),
        ("4", TEXT, "a has 3 lines; line 4 does not exist."),
        ("3-2", TEXT, "a has 3 lines; lines 3-2 do not exist."),
        ("4-", TEXT, "a has 3 lines; lines 4- do not exist."),
        ("2", "one\n", "a has 1 line; line 2 does not exist."),
    ],
)
def test_lines_that_do_not_exist_are_refused(part: str, text: str, fault: str) -> None:
    name, lines = split_range(f"a:{part}")
    assert lines is not None
    with pytest.raises(CannotUse) as caught:
        cut_range(text, lines, name)
    assert str(caught.value) == fault
