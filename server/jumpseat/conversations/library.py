"""The kept conversations of one state directory: the store, its index and its pruning, for all sessions."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from jumpseat.conversations.prune import Limits, Pruner
from jumpseat.conversations.store import Change, ConversationStore

if TYPE_CHECKING:
    from jumpseat.conversations.index import ConversationIndex


class ConversationLibrary:
    """What the sessions of a process share. Its methods block; any thread may call them."""

    def __init__(self, directory: Path) -> None:
        self.store = ConversationStore(directory)
        self.store.listeners.append(self._on_change)
        self.last_used: dict[Hashable, str] = {}
        """The conversation that each session used last; pruning leaves these."""

        self._pruner = Pruner(self.store)
        self._lock = threading.Lock()
        self._index: ConversationIndex | None = None

    @property
    def index(self) -> ConversationIndex:
        """The index of the store."""
        with self._lock:
            if self._index is None:
                # Deferred: a daemon that keeps and lists nothing needs no SQLite.
                from jumpseat.conversations.index import ConversationIndex

                self._index = ConversationIndex(self.store)
            return self._index

    def prune_delay(self, limits: Limits) -> float | None:
        """The seconds until `prune` should be called; None if no limit can be exceeded. Does not block."""
        return self._pruner.delay(limits)

    def prune(self, limits: Limits) -> None:
        """Delete what exceeds these limits, but no conversation that a session used last."""
        self._pruner.prune(limits, spared=set(self.last_used.values()))

    def close(self) -> None:
        """Write what is pending for the index, within some seconds, and close it."""
        if self._index is not None:
            self._index.close()

    def _on_change(self, change: Change) -> None:
        self.index.add(change)
