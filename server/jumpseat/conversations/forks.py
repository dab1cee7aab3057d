"""Finds the forks of a conversation, even after the conversation itself was deleted."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from jumpseat.conversations.rows import Row

DIRECTORY = ".forks"

_FORK = re.compile(r"\d{8}-\d{6}-(?P<parent>[0-9a-f]{8})-[0-9a-f]{8}")
"""Matches the id of a fork. The group `parent` is the digest that names the directory of the fork's entry."""


def new_fork_id(parent: str, now: datetime) -> str:
    """Create an id for a new fork of a conversation."""
    return f"{now:%Y%m%d-%H%M%S}-{_digest(parent)}-{secrets.token_hex(4)}"


def find_root(find_row: Callable[[str], Row | None], conversation_id: str) -> str:
    """Follow `fork_of` back from this conversation, and return the id of the first conversation."""
    seen: list[str] = []
    name: str | None = conversation_id
    while name is not None and name not in seen:
        seen.append(name)
        row = find_row(name)
        name = None if row is None else row.fork_of
    return seen[-1]


class Forks:
    """Records each fork as an empty file, in a directory for each parent.

    The names of these files and directories contain a digest of the parent's id instead of the id.
    """

    def __init__(self, directory: Path) -> None:
        """
        Args:
            directory: the directory of the conversations.
        """
        self._directory = directory / DIRECTORY

    def list_forks(self, parent: str) -> list[str]:
        """Return the ids of the forks of all conversations whose ids have the same digest as `parent`."""
        try:
            return sorted(each.name for each in (self._directory / _digest(parent)).iterdir())
        except OSError:
            return []

    def add(self, fork: str, parent: str) -> None:
        """Record a fork. Errors are ignored, because the fork can still be found under its own id."""
        entry = self._directory / _digest(parent) / fork
        with contextlib.suppress(OSError):
            entry.parent.parent.mkdir(mode=0o700, exist_ok=True)
            entry.parent.mkdir(mode=0o700, exist_ok=True)
            entry.touch(mode=0o600)

    def remove(self, conversation: str) -> None:
        """Remove the entry of a deleted conversation, if it was a fork."""
        found = _FORK.fullmatch(conversation)
        if found is not None:
            directory = self._directory / found["parent"]
            with contextlib.suppress(OSError):
                (directory / conversation).unlink(missing_ok=True)
                directory.rmdir()
                self._directory.rmdir()


def _digest(conversation_id: str) -> str:
    return blake2b(conversation_id.encode(), digest_size=4).hexdigest()
