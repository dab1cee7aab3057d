"""What a list shows of a conversation, and the texts that a search finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jumpseat.chat import ContextBlock, Message, TextBlock

LONGEST_TITLE = 80
"""Characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One conversation of a list."""

    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    turns: int
    model: str | None = None
    """The last turn's, as `provider:model`."""

    cwd: str | None = None
    client: str | None = None
    fork_of: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A whole conversation: what a chat takes to continue it."""

    row: Row
    messages: tuple[Message, ...]
    system: str | None
    settings: Mapping[str, Any]


def title_of(messages: Iterable[Message]) -> str:
    """The first line of the first question, cut at a word."""
    for message in messages:
        if message.role == "user":
            for block in message.content:
                if isinstance(block, TextBlock) and (text := block.text.strip()):
                    return _cut(" ".join(text.splitlines()[0].split()))
    return "(no text)"


def _cut(line: str) -> str:
    if len(line) <= LONGEST_TITLE:
        return line
    head = line[: LONGEST_TITLE - 1]
    # A line without spaces, as in Chinese, is cut where it is too long.
    at_word = head if line[len(head)] == " " else head.rpartition(" ")[0]
    return f"{(at_word or head).rstrip()}…"


def texts_of(messages: Iterable[Message]) -> list[str]:
    """The texts of the messages, for a search."""
    return [
        block.text
        for message in messages
        for block in message.content
        if isinstance(block, TextBlock | ContextBlock) and block.text
    ]
