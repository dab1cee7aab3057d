"""Diffs that are too long for a model are shortened by whole files, and say what they lack."""

from __future__ import annotations

import pytest

from jumpseat.context.diffs import ShortenedDiffs, shorten_diffs


def change(name: str, text: str) -> str:
    return f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +1 @@\n+{text}\n"


def size(text: str) -> int:
    return len(text.encode())


def names_left_out(diff: str) -> list[str]:
    """Return the names of all files in the diff, because none of them fits into one byte."""
    return list(shorten_diffs([diff], 1).left_out)


def test_a_diff_that_fits_is_unchanged() -> None:
    diff = change("a.py", "one") + change("b.py", "two")
    shortened = shorten_diffs([diff], size(diff))

    assert shortened == ShortenedDiffs([diff], [])
    assert (shortened.note, shortened.warning) == ("", "")


def test_the_longest_files_are_left_out_and_the_others_stay_in_order() -> None:
    first, long, last = change("z.py", "one"), change("my lock", "x" * 1000), change("a.py", "two")

    assert shorten_diffs([first + long + last], 500) == ShortenedDiffs([first + last], ["my lock"])


def test_the_limit_is_in_bytes() -> None:
    diff = change("a.py", "€" * 100) + change("b.py", "one")

    assert len(diff) < 300
    assert shorten_diffs([diff], 300) == ShortenedDiffs([change("b.py", "one")], ["a.py"])


def test_the_limit_applies_to_all_texts_together() -> None:
    short, long = change("a.py", "one"), change("b.py", "x" * 100)

    assert shorten_diffs([long, short], size(short + long)) == ShortenedDiffs([long, short], [])
    assert shorten_diffs([long, short], size(short + long) - 1) == ShortenedDiffs(["", short], ["b.py"])


def test_the_shortest_file_is_cut_off_at_a_line_if_no_file_fits() -> None:
    head = change("a.py", "€")
    short = f"{head}+{'€' * 100}\n"
    long = change("all.lock", "x" * 1000)

    assert shorten_diffs([short], 200) == ShortenedDiffs([head], [], "a.py")
    assert shorten_diffs([long + short], 200) == ShortenedDiffs([head], ["all.lock"], "a.py")
    assert shorten_diffs([long], size(head)).cut_off == "all.lock"


def test_all_files_are_left_out_if_not_even_one_line_fits() -> None:
    diff = change("a.py", "one") + change("b.py", "two")

    assert shorten_diffs([diff], 10) == ShortenedDiffs([""], ["a.py", "b.py"])


def test_text_that_is_not_a_diff_is_never_shortened() -> None:
    words = "Mention the issue.\n" * 20
    diff = change("a.py", "one")

    assert shorten_diffs([words], 10) == ShortenedDiffs([words], [])
    assert shorten_diffs([words + diff], 10) == ShortenedDiffs([words], ["a.py"])
    assert shorten_diffs([words, diff], size(words + diff)) == ShortenedDiffs([words, diff], [])


def test_a_header_within_a_changed_line_does_not_start_a_file() -> None:
    diff = change("a.py", "one\n diff --git a/x b/x\n-diff --git a/y b/y") + change("b.py", "two")

    assert names_left_out(diff) == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("shortened", "note", "warning"),
    [
        (
            ShortenedDiffs([""], ["a", "b"]),
            "These files have changed too, but their diffs are too long: a, b",
            "The diff is too long for the model. These files are left out: a, b",
        ),
        (
            ShortenedDiffs([""], [], "c"),
            "The diff of c is too long, so it is cut off.",
            "The diff of c is too long for the model. Only its beginning is used.",
        ),
        (
            ShortenedDiffs([""], ["a"], "c"),
            "The diff of c is too long, so it is cut off.\n"
            "These files have changed too, but their diffs are too long: a",
            "The diff is too long for the model. Only the beginning of c is used, and these files are left "
            "out: a",
        ),
    ],
)
def test_the_note_and_the_warning_name_what_is_missing(
    shortened: ShortenedDiffs, note: str, warning: str
) -> None:
    assert (shortened.note, shortened.warning) == (note, warning)


def test_at_most_twenty_files_are_named() -> None:
    names = [f"f{number}" for number in range(21)]

    assert ShortenedDiffs([""], names).note.endswith(": " + ", ".join(names[:20]) + ", …")
    assert ShortenedDiffs([""], names[1:]).warning.endswith(", f20")


@pytest.mark.parametrize("kind", ["cc", "combined"])
def test_an_unmerged_file_is_a_file_of_its_own(kind: str) -> None:
    conflict = f'diff --{kind} "\\303\\244.txt"\nindex 2bdf67a,f719efd..0000000\n++{"x" * 500}\n'
    staged = change("b.txt", "one")

    assert shorten_diffs([staged + conflict], 200) == ShortenedDiffs([staged], ["ä.txt"])


@pytest.mark.parametrize(
    ("diff", "name"),
    [
        ("diff --git a/one.py b/one.py\n", "one.py"),
        ("diff --git i/dir/one.py w/dir/one.py\n", "dir/one.py"),
        ("diff --git dir/two.py dir/two.py\n", "dir/two.py"),
        ("diff --git a/one.py a/one.py\n", "a/one.py"),
        ("diff --git a/my file b/my file\n", "my file"),
        (
            "diff --git a/old.py b/longer name.py\nrename from old.py\nrename to longer name.py\n",
            "longer name.py",
        ),
        ("diff --git a/a b/copy\ncopy from a\ncopy to copy\n", "copy"),
        (
            r'diff --git "a/dir/\303\244 \"q\"\t\\.txt" "b/dir/\303\244 \"q\"\t\\.txt"' "\n",
            'dir/ä "q"\t\\.txt',
        ),
        (
            'diff --git a/old.txt "b/n\\303\\253w.txt"\nrename from old.txt\nrename to "n\\303\\253w.txt"\n',
            "nëw.txt",
        ),
        ('diff --git "a/ä\\t.txt" "b/ä\\t.txt"\n', "ä\t.txt"),
    ],
)
def test_a_file_is_named_as_in_the_working_tree(diff: str, name: str) -> None:
    assert names_left_out(diff) == [name]
