"""Conversations with the tools of a plug-in that edits files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.e2e.repl.chats import list_messages
from tests.fakes import desk_plugin
from tests.fakes.typist import Typist, typists

Start = Callable[..., Typist]
SERVE = [sys.executable, "-P", "-m", "jumpseat", "serve"]
NOTES = "# Notes\n\nThis is teh first.\nSecond line.\n"
QUESTION = "Allow it? ["


@pytest.fixture
def notes(home: Path) -> Path:
    """Create the workspace with one file."""
    file = home / "work" / "notes.md"
    file.parent.mkdir()
    file.write_text(NOTES, "utf-8")
    return file


@pytest.fixture
def typist(configuration: Path, home: Path, notes: Path) -> Iterator[Start]:
    """Return a function that starts conversations with the tools of the plug-in."""
    with configuration.open("a", encoding="utf-8") as file:
        file.write('[tools]\nallow = ["desk/read"]\n')
    environment = desk_plugin.install(home / "site")
    arguments = ("chat", "--tools", "desk", "--workspace", str(notes.parent))
    with typists() as start:
        yield partial(start, *arguments, daemon=SERVE, **environment)


def edit(old: str = "teh", new: str = "the", path: str = "notes.md") -> tuple[str, dict[str, Any]]:
    """Return a call that replaces a text in a file."""
    return "desk__edit", {"path": path, "oldText": old, "newText": new}


def read(path: str = "notes.md") -> tuple[str, dict[str, Any]]:
    """Return a call that reads a file."""
    return "desk__read", {"path": path}


def results(upstream: ThreadedUpstream) -> list[str]:
    """Return the tool results in the last request that the provider received."""
    return [text for role, text in list_messages(upstream) if role == "tool"]
