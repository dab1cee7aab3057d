"""Deletes old conversations, by the limits of the configuration."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jumpseat.conversations.files import SUFFIX, is_id
from jumpseat.system.state_file import StateError
from jumpseat.system.watch import Stamp

if TYPE_CHECKING:
    from jumpseat.conversations.store import ConversationStore

logger = logging.getLogger(__name__)

SECONDS_PER_DAY = 86_400
BYTES_PER_MEGABYTE = 1_000_000


@dataclass(slots=True)
class _Files:
    """The files of one conversation: its own, and what was set aside of it."""

    bytes: int = 0
    changed_ns: int = 0
    stamp: Stamp | None = None
    """Of its own file."""


def prune(
    store: ConversationStore, *, max_days: float, max_megabytes: float, spared: Collection[str] = ()
) -> list[str]:
    """Delete conversations until both limits hold, the one whose last change is oldest first; blocks.

    Args:
        store: the conversations; none with a running turn is deleted.
        max_days: the age of the last change, by the time of the file; 0 for no limit.
        max_megabytes: of all files together; 0 for no limit.
        spared: ids that are not deleted.

    Returns:
        The ids of the deleted conversations.
    """
    files = _files(store.directory)
    total = sum(each.bytes for each in files.values())
    oldest_ns = time.time_ns() - int(max_days * SECONDS_PER_DAY * 1e9) if max_days else 0
    most_bytes = max_megabytes * BYTES_PER_MEGABYTE if max_megabytes else float("inf")
    deleted = []
    for id_, each in sorted(files.items(), key=lambda item: item[1].changed_ns):
        if total <= most_bytes and each.changed_ns >= oldest_ns:
            break
        if id_ in spared:
            continue
        try:
            if not store.delete_unused(id_, each.stamp):
                continue
        except (OSError, StateError) as error:
            logger.warning("the conversation %s cannot be deleted: %s", id_, error)
            continue
        total -= each.bytes
        deleted.append(id_)
    if deleted:
        logger.info("deleted %d old conversations", len(deleted))
    return deleted


def _files(directory: Path) -> dict[str, _Files]:
    found: dict[str, _Files] = {}
    try:
        entries = os.scandir(directory)
    except OSError:
        return found
    with entries:
        for entry in entries:
            is_own = entry.name.endswith(SUFFIX)
            id_ = entry.name.removesuffix(SUFFIX) if is_own else entry.name.partition(f"{SUFFIX}.damaged-")[0]
            if id_ == entry.name or not is_id(id_):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # It was deleted meanwhile.
            files = found.setdefault(id_, _Files())
            files.bytes += status.st_size
            files.changed_ns = max(files.changed_ns, status.st_mtime_ns)
            if is_own:
                files.stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
    return found
