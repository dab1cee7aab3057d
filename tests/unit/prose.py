"""Read the comments and docstrings of the project's files, in each of its languages."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Text(NamedTuple):
    """A comment or docstring, joined to one line."""

    line: int
    """The number of the line in which the text starts."""
    words: str
    is_docstring: bool


class Syntax(NamedTuple):
    """The forms of comments and docstrings in a language, as regular expressions."""

    comment: str
    docstring: str | None = None


_HASH = Syntax("#+")
_SCRIPT = Syntax("//+", r"/\*\*?(?P<text>.*?)\*/")
_SYNTAXES = {
    ".py": Syntax("#+", r'^[ \t]*r?"""(?P<text>.*?)"""'),
    ".lua": Syntax("---?"),
    ".ts": _SCRIPT,
    ".js": _SCRIPT,
    ".mjs": _SCRIPT,
    ".el": Syntax(";+", r'^  "(?P<text>(?:[^"\\]|\\.)*)"'),
    ".toml": _HASH,
    ".yml": _HASH,
    "": _HASH,
}
"""The syntax by file extension; Makefile and the script of the CI have no extension."""

_NOT_OURS = {"LICENSE", "NOTICE", "package-lock.json"}


def source_files() -> list[Path]:
    """Return every file of the repository whose comments and docstrings can be read."""
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    files = (ROOT / name for name in names if name)
    return [
        file for file in files if file.suffix in _SYNTAXES and file.name not in _NOT_OURS and file.is_file()
    ]


def texts_of(source: str, suffix: str) -> Iterator[Text]:
    """Yield the docstrings and then the comments of a file; the lines of a comment are joined."""
    syntax = _SYNTAXES[suffix]
    if syntax.docstring:
        for found in re.finditer(syntax.docstring, source, re.MULTILINE | re.DOTALL):
            words = re.sub(r"\n\s*\*(?!\*)", " ", found["text"])
            yield Text(source.count("\n", 0, found.start()) + 1, " ".join(words.split()), True)
    block = rf"(?:^[ \t]*{syntax.comment}(?!\S*!).*\n?)+|(?<=[\s;,]){syntax.comment} .*"
    for found in re.finditer(block, source, re.MULTILINE):
        words = re.sub(rf"^[ \t]*{syntax.comment}", " ", found[0], flags=re.MULTILINE)
        yield Text(source.count("\n", 0, found.start()) + 1, " ".join(words.split()), False)
