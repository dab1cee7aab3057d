"""Parts of the documentation pages, for the tests that compare them with the code."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README, SERVER_README = ROOT / "README.md", ROOT / "server" / "README.md"
SUBSYSTEMS, TESTING = ROOT / "server" / "subsystems.md", ROOT / "tests" / "README.md"
CONFIGURATION, CLIENT, COMMAND_LINE = (
    DOCS / f"{name}.md" for name in ("configuration", "client", "command-line")
)
PROTOCOL = DOCS / "protocol"
"""A directory. Its pages are treated as one page."""

CONTRIBUTING, SECURITY = ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"
PAGES = [README, CONTRIBUTING, SECURITY, SERVER_README, SUBSYSTEMS, TESTING, *sorted(DOCS.rglob("*.md"))]
EDITOR_PAGES = {page.parent.name: page for page in sorted((ROOT / "editors").glob("*/README.md"))}
SOURCES = (ROOT / "server" / "jumpseat", ROOT / "client" / "jumpseat_client")

TO_DAEMON, TO_CLIENT = "→", "←"

WAIT_SECONDS = 30.0
"""A time limit that is far longer than any command needs."""

_CODE_SPAN = re.compile(r"`([^`\n]+)`")


def files(page: Path) -> list[Path]:
    """Return the file of a page, or the files of a directory."""
    return sorted(page.glob("*.md")) if page.is_dir() else [page]


def read(page: Path) -> str:
    return "\n".join(file.read_text("utf-8") for file in files(page))


class Block(NamedTuple):
    """A block of code, fenced or indented, and where it is."""

    page: Path
    lines: range
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.lines.start + 1}"


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """Return the blocks of a page; if a language is given, only the blocks that are marked with it."""
    found = [block for file in files(page) for block in _blocks_of_file(file)]
    return [block for block in found if language in (None, block.language)]


@functools.cache
def _blocks_of_file(file: Path) -> list[Block]:
    return [
        Block(file, range(*token.map), token.info.strip(), token.content)
        for token in MarkdownIt().parse(read(file))
        if token.type in ("fence", "code_block") and token.map
    ]


def fences(page: Path, language: str) -> list[str]:
    """Return the texts of the blocks of a page that are marked with this language."""
    return [block.text for block in blocks(page, language)]


def exchange() -> list[tuple[str, Any]]:
    """Return the direction (TO_DAEMON or TO_CLIENT) and the message of each frame in the example."""
    frames: list[list[str]] = []
    shown = [text for text in fences(PROTOCOL, "text") if text.startswith((TO_DAEMON, TO_CLIENT))]
    for line in "".join(shown).splitlines():
        if line.startswith((TO_DAEMON, TO_CLIENT)):
            frames.append([line[0], line[1:]])
        else:  # A frame may take several lines.
            frames[-1][1] += line
    return [(direction, json.loads(text)) for direction, text in frames]


def prose(page: Path) -> str:
    """Return a page without its blocks."""
    code = {(block.page, number) for block in blocks(page) for number in block.lines}
    return "".join(
        line
        for file in files(page)
        for number, line in enumerate(read(file).splitlines(keepends=True))
        if (file, number) not in code
    )


def spans(text: str) -> list[str]:
    """Return the texts between backticks."""
    return _CODE_SPAN.findall(text)


def table(page: Path, *header: str) -> list[list[str]]:
    """Return the rows of the one table whose header starts with these cells."""
    lines = iter(prose(page).splitlines())
    found = []
    for line in lines:
        if line.startswith("|") and cells(line)[: len(header)] == list(header):
            next(lines)
            rows = []
            while (row := next(lines, "")).startswith("|"):
                rows.append(cells(row))
            found.append(rows)
    assert len(found) == 1, f"{page.name} has {len(found)} tables that begin with {header}"
    return found[0]


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def names_in(rows: list[list[str]]) -> list[str]:
    """Return the code spans of the first column."""
    return [name for row in rows for name in spans(row[0])]
