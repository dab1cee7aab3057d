"""A change of a kept conversation, as the store announces it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jumpseat.conversations.rows import Row
from jumpseat.system.watch import Stamp


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one conversation; also the form in which `snapshot` returns a whole conversation."""

    id: str
    row: Row | None
    """The conversation's row; None if the conversation was deleted."""

    stamp: Stamp | None
    """The file's stamp after the change."""

    texts: tuple[str, ...]
    """The searchable texts that the change adds."""

    session: tuple[str, datetime] | None = None
    """The session of which the conversation is a branch, and the time of that branch's last use; None if the
    conversation was deleted."""

    size_before: int = 0
    """The file's size in bytes before the change; 0 for a new file."""

    pruned: bool = False
    """Whether a limit, not the user, deleted the conversation."""
