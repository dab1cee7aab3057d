"""The pages that people read, taken apart for the tests that hold them to the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README, BUILT, PROTOCOL, PLUGINS, RECIPES = PAGES = [
    ROOT / name
    for name in ("README.md", "server/README.md", "docs/protocol.md", "docs/plugins.md", "docs/recipes.md")
]
SOURCES = (ROOT / "server" / "jumpseat", ROOT / "client" / "jumpseat_client")

WAIT_SECONDS = 30.0
"""Far more than a command takes; one that takes longer hangs."""

_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(page: Path) -> str:
    return page.read_text("utf-8")


def fences(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page that are marked with this language."""
    return [body for name, body in _FENCE.findall(read(page)) if name == language]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", read(page))


def spans(text: str) -> list[str]:
    """What stands between backticks."""
    return _CODE_SPAN.findall(text)


def table(page: Path, *header: str) -> list[list[str]]:
    """The rows of the one table whose header begins so."""
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
