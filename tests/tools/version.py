"""Writes the version of `server/jumpseat/__init__.py` into the files that repeat it: `make version`.

Package managers, editors and people read these files where the Python package is not installed.
`tests/unit/test_version.py` fails if one of them differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from jumpseat import __version__

ROOT = Path(__file__).parents[2]

COPIES: Mapping[str, tuple[str, ...]] = {
    "docs/jumpseat.1": (r'^\.TH .* "jumpseat ([^"]+)"',),
    "docs/protocol/README.md": (r'"serverInfo": \{"name": "jumpseat", "version": "([^"]+)"',),
    "editors/emacs/jumpseat-core.el": (r'^\(defconst jumpseat-version "([^"]+)"',),
    "editors/emacs/jumpseat.el": (r"^;; Version: (.+)$",),
    "editors/neovim/lua/jumpseat/core/config.lua": (r"^M\.version = '([^']+)'",),
    "editors/vscode/package.json": (r'^  "version": "([^"]+)"',),
    "editors/vscode/package-lock.json": (
        r'\A\{\n  "name": "jumpseat",\n  "version": "([^"]+)"',
        r'^    "": \{\n      "name": "jumpseat",\n      "version": "([^"]+)"',
    ),
}
"""The patterns for each file. A pattern matches once in the file, and its group is the version."""


def versions_in(file: str) -> list[str]:
    """Return the versions that a file repeats, one for each pattern that matches."""
    text = (ROOT / file).read_text("utf-8")
    return [found for pattern in COPIES[file] for found in re.findall(pattern, text, re.MULTILINE)]


def set_version(text: str, patterns: tuple[str, ...], version: str) -> str:
    """Return a file's text, in which this version replaces each version that a pattern finds."""
    for pattern in patterns:
        found = re.search(pattern, text, re.MULTILINE)
        assert found is not None, pattern
        text = text[: found.start(1)] + version + text[found.end(1) :]
    return text


if __name__ == "__main__":
    for file, patterns in COPIES.items():
        before = (ROOT / file).read_text("utf-8")
        (ROOT / file).write_text(set_version(before, patterns, __version__), "utf-8")
    print(f"Every file has the version {__version__}.")
