"""Code, tests and pages are in plain English: some words do not return."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.pages import PAGES, ROOT

FOLDERS = ("server", "client", "editors", "tests")

# Not within other words (recommend), and not between the asterisks of the list in server/README.md.
_WORD = re.compile(
    r"(?<![a-z*])(anew|heed|house|mend|whence|whoever|by[\s_#]+way[\s_#]+of|so[\s_-]manieth)"
    r"(s|ed|ing)?(?![a-z])",
    re.IGNORECASE,
)


def words_in(text: str) -> list[tuple[int, str]]:
    """The words in prose, names and strings, with their lines."""
    return [(text.count("\n", 0, found.start()) + 1, found[0]) for found in _WORD.finditer(text)]


def test_no_file_has_a_word_that_a_reader_has_to_translate() -> None:
    modules = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    files = {*modules, *PAGES, ROOT / "CHANGELOG.md", ROOT / "pyproject.toml"} - {Path(__file__)}
    found = {str(file.relative_to(ROOT)): words_in(file.read_text("utf-8")) for file in files}

    assert len(found) > 500
    assert {name: words for name, words in found.items() if words} == {}


def test_the_words_are_found_in_prose_names_and_wrapped_comments() -> None:
    text = "# It begins Anew, by\n# way of a test.\ndef it_is_mended(): ...\nrecommend = 'amend' + renewed\n"
    assert words_in(text) == [(1, "Anew"), (1, "by\n# way of"), (3, "mended")]
