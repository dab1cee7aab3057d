"""The kept conversations of one state directory, for all sessions: store, index and pruning."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from jumpseat.conversations.changes import Change
from jumpseat.conversations.prune import Limits, Pruner
from jumpseat.conversations.store import ConversationStore

if TYPE_CHECKING:
    from jumpseat.conversations.index import ConversationIndex


class ConversationLibrary:
    """The kept conversations that the sessions of a process share. Its methods block. Thread-safe."""

    def __init__(self, directory: Path) -> None:
        self.store = ConversationStore(directory)
        self.store.listeners.append(self._on_change)
        self.last_used: dict[Hashable, str] = {}
        """The conversation that each session used last. `prune` does not delete these conversations."""

        self._pruner = Pruner(self.store)
        self._lock = threading.Lock()
        self._index: ConversationIndex | None = None

    @property
    def index(self) -> ConversationIndex:
        """The index of the store, created when first used."""
        with self._lock:
            if self._index is None:
                # Imported late: a daemon that neither keeps nor lists conversations does not need SQLite.
                from jumpseat.conversations.index import ConversationIndex

                self._index = ConversationIndex(self.store)
            return self._index

    def prune_delay(self, limits: Limits) -> float | None:
        """Return the seconds until `prune` is due, without blocking; None if no limit can be exceeded."""
        return self._pruner.seconds_until_due(limits)

    def prune(self, limits: Limits) -> None:
        """Delete the conversations that exceed these limits, except those that a session used last."""
        self._pruner.prune(limits, spared=set(self.last_used.values()))

    def close(self) -> None:
        """Write pending changes to the index, within a few seconds, and close it."""
        if self._index is not None:
            self._index.close()

    def _on_change(self, change: Change) -> None:
        self.index.add(change)
