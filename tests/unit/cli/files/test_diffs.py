"""Unified diffs: they describe the change exactly, and take a bounded time."""

from __future__ import annotations

import time
from difflib import unified_diff

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jumpseat_cli.files import diffs
from jumpseat_cli.files.diffs import diff_texts
from jumpseat_cli.files.lines import rows_of

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n"]), max_size=30).flatmap(
    lambda rows: st.sampled_from(["".join(rows), "".join(rows).rstrip("\n")])
)


def diff(old: str, new: str) -> list[str]:
    return list(diff_texts(old, new, "old", "new"))


def apply(old: str, lines: list[str]) -> list[str]:
    """Apply a unified diff to the lines of a text, and check its ranges and its context."""
    rows = [row.rstrip("\r\n") for row in rows_of(old)]
    result: list[str] = []
    at = 0
    for line in lines[2:]:
        if line.startswith("@@"):
            _, removed, added, _ = line.split()
            # An empty range is given as the number of the line before it.
            start, _, count = removed[1:].partition(",")
            first = int(start) - (count != "0")
            result += rows[at:first]
            at = first
            new_start, _, new_count = added[1:].partition(",")
            assert len(result) == int(new_start) - (new_count != "0")
        elif line[0] in " -":
            assert rows[at] == line[1:]
            at += 1
        if line[0] in " +":
            result.append(line[1:])
    return result + rows[at:]


@given(TEXTS, TEXTS)
@example("a\n" * 10, "a\n" * 11)
def test_applying_a_diff_gives_the_new_text(old: str, new: str) -> None:
    lines = diff(old, new)

    assert apply(old, lines) == [row.rstrip("\r\n") for row in rows_of(new)]
    assert (lines == []) == (old == new)


def test_a_small_diff_equals_the_output_of_difflib() -> None:
    old = "".join(f"line {number}\n" for number in range(40))
    new = old.replace("line 5\n", "five\n").replace("line 30\n", "")
    expected = unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="")

    assert diff(old, new) == list(expected)


def test_a_missing_line_ending_is_shown() -> None:
    assert diff("a\n", "a")[2:] == ["@@ -1 +1 @@", "-a", "+a", "\\ No newline at end of file"]


def test_a_new_file_has_only_added_lines() -> None:
    assert diff("", "a\nb\n") == ["--- old", "+++ new", "@@ -0,0 +1,2 @@", "+a", "+b"]


@pytest.mark.parametrize("count", [3, 60_000])
def test_many_changed_lines_are_shown_as_replaced(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    # Lower the limit for the small texts, so that they exceed it too.
    monkeypatch.setattr(diffs, "MAX_COMPARISONS", min(diffs.MAX_COMPARISONS, count * count - 1))
    # Each old line occurs many times in both of the larger texts, so comparing them would take minutes.
    old = "".join(f"{number % 997}\n" for number in range(count))
    new = "".join(f"{number * 7 % 997}x\n{number % 997}\n" for number in range(count))
    start = time.monotonic()
    lines = diff(old, new)

    assert time.monotonic() - start < 10
    assert [line[0] for line in lines[3:]] == ["-"] * count + ["+"] * 2 * count
    assert apply(old, lines) == new.splitlines()
