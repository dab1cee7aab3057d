"""The row of a conversation in a list, and the texts that a search finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jumpseat.chat import ContextBlock, Message, TextBlock

MAX_TITLE = 80
"""The maximum length of a title in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One conversation in a list."""

    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    turns: int
    model: str | None = None
    """The last turn's model, as `provider:model`."""

    cwd: str | None = None
    client: str | None = None
    fork_of: str | None = None


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """A whole conversation, with everything that a chat needs to continue it."""

    row: Row
    messages: tuple[Message, ...]
    system: str | None
    settings: Mapping[str, Any]


def derive_title(messages: Iterable[Message]) -> str:
    """Return the first line of the user's first text, shortened between words if possible."""
    for message in messages:
        if message.role == "user":
            for block in message.content:
                if isinstance(block, TextBlock) and (text := block.text.strip()):
                    return _shorten(" ".join(text.splitlines()[0].split()))
    return "(no text)"


def _shorten(line: str) -> str:
    if len(line) <= MAX_TITLE:
        return line
    head = line[: MAX_TITLE - 1]
    # A line without spaces, as in Chinese, is cut at the limit.
    at_word = head if line[len(head)] == " " else head.rpartition(" ")[0]
    return f"{(at_word or head).rstrip()}…"


def list_texts(messages: Iterable[Message]) -> list[str]:
    """Return the searchable texts of the messages."""
    return [
        block.text
        for message in messages
        for block in message.content
        if isinstance(block, TextBlock | ContextBlock) and block.text
    ]
