"""Parts of the documentation pages, for the tests that compare them with the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README, BUILT = ROOT / "README.md", ROOT / "server" / "README.md"
PROTOCOL, CONFIGURATION, CLIENT = (DOCS / f"{name}.md" for name in ("protocol", "configuration", "client"))
COMMAND_LINE = DOCS / "command-line.md"
PAGES = [README, BUILT, *sorted(DOCS.glob("*.md"))]
SOURCES = (ROOT / "server" / "jumpseat", ROOT / "client" / "jumpseat_client")

TO_DAEMON, TO_CLIENT = "→", "←"

WAIT_SECONDS = 30.0
"""Far more than a command needs."""

_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(page: Path) -> str:
    return page.read_text("utf-8")


def fences(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page that are marked with this language."""
    return [body for name, body in _FENCE.findall(read(page)) if name == language]


def exchange() -> list[tuple[str, Any]]:
    """The frames of the protocol page's exchange: TO_DAEMON or TO_CLIENT, and the message."""
    frames: list[list[str]] = []
    for line in "".join(fences(PROTOCOL, "text")).splitlines():
        if line.startswith((TO_DAEMON, TO_CLIENT)):
            frames.append([line[0], line[1:]])
        else:  # A frame may take several lines.
            frames[-1][1] += line
    return [(direction, json.loads(text)) for direction, text in frames]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", read(page))


def spans(text: str) -> list[str]:
    """The texts between backticks."""
    return _CODE_SPAN.findall(text)


def table(page: Path, *header: str) -> list[list[str]]:
    """The rows of the one table whose header starts with these cells."""
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
    """The code spans of the first column."""
    return [name for row in rows for name in spans(row[0])]
