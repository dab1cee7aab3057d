"""The version number, which `server/jumpseat/__init__.py` determines for all files."""

from __future__ import annotations

import re

import pytest

from jumpseat import __version__
from tests.tools.version import COPIES, ROOT, set_version, versions_in
from tests.unit.texts import shipped_texts

SOURCE = "server/jumpseat/__init__.py"
EXCEPTIONS = {
    SOURCE: "it is the source",
    "docs/pictures/chat.svg": "it shows a recorded run",
}
"""Files with the number that `make version` does not write."""

NUMBER = re.compile(rf"(?<![\w.^~]){re.escape(__version__)}(?![\w.]*\d)")


@pytest.mark.parametrize("file", COPIES)
def test_each_copy_has_the_version_of_the_package(file: str) -> None:
    expected = [__version__] * len(COPIES[file])

    assert versions_in(file) == expected, f"{SOURCE} has the version: run `make version`"


def test_no_other_file_repeats_the_version() -> None:
    found = {name for name, text in shipped_texts() if NUMBER.search(text)}

    assert found - EXCEPTIONS.keys() == COPIES.keys()


@pytest.mark.parametrize("file", COPIES)
def test_make_version_changes_exactly_the_copies_of_the_version(file: str) -> None:
    text = (ROOT / file).read_text("utf-8")

    changed = set_version(text, COPIES[file], "9.8.7")

    assert changed.count("9.8.7") == len(COPIES[file])
    assert set_version(changed, COPIES[file], __version__) == text
