"""Deletes old conversations according to the configured limits."""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jumpseat.conversations.files import parse_file_name
from jumpseat.system.state_file import StateError

if TYPE_CHECKING:
    from jumpseat.conversations.changes import Change
from jumpseat.conversations.store import ConversationStore

logger = logging.getLogger(__name__)

SECONDS_PER_DAY = 86_400
BYTES_PER_MEGABYTE = 1_000_000

BATCH_SECONDS = 0.1
"""The longest time for which a batch may hold the store's lock, not counting the scan of the directory."""

PAUSE_SECONDS = 0.02
"""The pause between two batches, so that waiting turns can be written."""

SCAN_SHARE = 0.01
"""The maximum CPU time of scans, as a share of the elapsed time."""

SCAN_VALID_SECONDS = 600.0
"""The time for which a scan is valid. Changes by other processes are not noticed meanwhile."""


class Limits(NamedTuple):
    """The limits of one client's configuration; 0 means no limit."""

    max_days: float
    """The maximum age in days, counted from the file's modification time."""

    max_megabytes: float
    """The maximum total size of all files."""

    @property
    def max_bytes(self) -> float:
        """`max_megabytes` in bytes."""
        return self.max_megabytes * BYTES_PER_MEGABYTE or float("inf")

    @property
    def cutoff_ns(self) -> float:
        """The earliest allowed time of the last change, in nanoseconds since 1970; 0 if there is no limit."""
        return time.time_ns() - self.max_days * SECONDS_PER_DAY * 1e9 if self.max_days else 0


@dataclass(slots=True)
class _Files:
    """The files of one conversation: its file, and damaged or unfinished copies of it."""

    bytes: int = 0
    changed_ns: int = 0
    copies: list[Path] = field(default_factory=list)


@dataclass(slots=True)
class _Scan:
    """The result of a scan and of the deletions after it."""

    total: int
    """The size of all remaining files in bytes."""

    oldest_ns: float
    """The modification time of the oldest remaining conversation that may be deleted."""

    written: int
    """The value of `Pruner._written` when the scan began."""

    ended: float
    """The time after the deletions, on the monotonic clock."""


class Pruner:
    """Prunes one store.

    It scans the directory only if a limit may be exceeded, because a scan takes longer the more conversations
    there are.
    """

    def __init__(self, store: ConversationStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._written = 0
        """The number of bytes that this process has added to the store."""

        self._scans: dict[Limits, _Scan] = {}
        self._next_scan = 0.0
        """The earliest time of the next scan on the monotonic clock."""

        store.listeners.append(self._on_change)

    def seconds_until_due(self, limits: Limits) -> float | None:
        """Return the seconds until `prune` should be called; None if no limit can be exceeded."""
        return max(0.0, self._next_scan - time.monotonic()) if self._may_exceed(limits) else None

    def prune(self, limits: Limits, *, spared: Collection[str] = ()) -> list[str]:
        """Delete the least recently changed conversations until both limits are met. Blocks.

        Each batch of deletions scans the directory again under the store's lock, so that processes that prune
        simultaneously consider each other's deletions.

        Args:
            limits: the limits.
            spared: ids that are not deleted. Conversations with a running turn are not deleted either.

        Returns:
            The ids of the deleted conversations.
        """
        deleted: list[str] = []
        with self._lock:
            if not self._may_exceed(limits) or not self._store.directory.is_dir():
                return deleted
            skipped = set(spared)
            try:
                while not self._prune_batch(limits, skipped, deleted):
                    time.sleep(PAUSE_SECONDS)
            except StateError as error:
                logger.warning("old conversations cannot be deleted: %s", error)
        if deleted:
            logger.info("deleted %d old conversations", len(deleted))
        return deleted

    def _on_change(self, change: Change) -> None:
        if change.stamp is not None:
            self._written += change.stamp[2] - change.size_before

    def _may_exceed(self, limits: Limits) -> bool:
        if not any(limits):
            return False
        scan = self._scans.get(limits)
        if scan is None or time.monotonic() - scan.ended > SCAN_VALID_SECONDS:
            return True
        written = self._written - scan.written
        return scan.oldest_ns < limits.cutoff_ns or (written > 0 and scan.total + written > limits.max_bytes)

    def _prune_batch(self, limits: Limits, skipped: set[str], deleted: list[str]) -> bool:
        """Delete for at most `BATCH_SECONDS`; return False if there is more to delete.

        Args:
            limits: the limits.
            skipped: ids that must not be deleted; ids that cannot be deleted are added.
            deleted: receives the deleted ids.
        """
        with self._store.hold_lock():
            written, cpu = self._written, time.thread_time()
            files = _scan_files(self._store.directory)
            total = sum(each.bytes for each in files.values())
            by_age = sorted(files.items(), key=lambda item: item[1].changed_ns)
            cpu = time.thread_time() - cpu
            end = time.monotonic() + BATCH_SECONDS
            oldest_ns = float("inf")
            for id_, each in by_age:
                if id_ in skipped:
                    continue
                if total <= limits.max_bytes and each.changed_ns >= limits.cutoff_ns:
                    oldest_ns = each.changed_ns
                    break
                if time.monotonic() > end:
                    return False
                if self._delete(id_, each):
                    total -= each.bytes
                    deleted.append(id_)
                else:
                    skipped.add(id_)
        self._scans[limits] = _Scan(total, oldest_ns, written, time.monotonic())
        self._next_scan = time.monotonic() + cpu / SCAN_SHARE
        return True

    def _delete(self, id_: str, files: _Files) -> bool:
        try:
            return self._store.delete_unused(id_, files.copies)
        except (OSError, StateError) as error:
            logger.warning("the conversation %s cannot be deleted: %s", id_, error)
            return False


def _scan_files(directory: Path) -> dict[str, _Files]:
    found: dict[str, _Files] = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            if (named := parse_file_name(entry.name)) is None:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # Another program deleted it meanwhile.
            if not stat.S_ISREG(status.st_mode):
                continue
            id_, is_copy = named
            files = found.setdefault(id_, _Files())
            files.bytes += status.st_size
            files.changed_ns = max(files.changed_ns, status.st_mtime_ns)
            if is_copy:
                files.copies.append(Path(entry.path))
    return found
