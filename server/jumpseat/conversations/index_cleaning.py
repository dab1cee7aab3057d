"""Removes the remains of deleted conversations from the index: texts, trigrams, ids and free pages.

Deleting a conversation removes its row. The next cleaning removes the rest, for many deletions together. FTS5
drops the trigrams of deleted texts only when it merges all segments, which takes seconds for a large index.
So a cleaning consists of short transactions, and any process can run the next transaction.
"""

from __future__ import annotations

import sqlite3
import time

from jumpseat.conversations.index_tables import IndexTables, transaction

PAGES_PER_STEP = 500
"""The number of pages that one transaction merges or returns to the file system."""

STEP_SECONDS = 0.1
"""The time limit for removing texts in one transaction."""

NAMED_SECONDS = 5.0
"""The time for which a deleted conversation's id is preserved, for the notifications of other daemons."""

_TEXTS, _BEGIN_MERGE, _MERGE, _IDS, _PAGES = range(5)
"""The stages of a cleaning."""


def read_due_time(tables: IndexTables) -> float | None:
    """Return the time of the next cleaning, in seconds since 1970; None if there is nothing to clean."""
    (time_,) = tables.connection.execute("SELECT clean_at FROM state").fetchone()
    return None if time_ is None else float(time_)


def run_cleaning_step(tables: IndexTables, *, keep_names: bool = True) -> None:
    """Run the next transaction of a cleaning that is due.

    Args:
        tables: the index.
        keep_names: whether to preserve ids for `NAMED_SECONDS`. Without the id, the notification about a
            deletion does not name the conversation.
    """
    connection = tables.connection
    with transaction(connection):
        (stage,) = connection.execute("SELECT stage FROM state").fetchone()
        if stage == _TEXTS:
            is_done = _remove_texts(tables)
        elif stage == _BEGIN_MERGE:
            # Merge after the transaction that removes the texts, because FTS5 merges only committed changes.
            _merge(tables, -PAGES_PER_STEP)
            is_done = True
        elif stage == _MERGE:
            # According to the FTS5 documentation, a merge that changes fewer than two rows is complete.
            is_done = _merge(tables, PAGES_PER_STEP) < 2
        elif stage == _IDS:
            is_done = _forget_ids(connection, NAMED_SECONDS if keep_names else 0)
        else:
            is_done = _free_pages(connection) == 0
        if is_done and stage != _PAGES:
            connection.execute("UPDATE state SET stage = stage + 1")
        elif is_done:
            connection.execute("UPDATE state SET stage = 0, clean_at = clean_next, clean_next = NULL")
    if stage == _PAGES and not is_done:
        # `execute` would free only one page, because it does not step through a statement without columns.
        connection.executescript(f"PRAGMA incremental_vacuum({PAGES_PER_STEP})")


def _remove_texts(tables: IndexTables) -> bool:
    end = time.monotonic() + STEP_SECONDS
    for (number,) in tables.connection.execute("SELECT number FROM removed").fetchall():
        if time.monotonic() > end:
            return False
        tables.remove_texts(number)
        tables.connection.execute("DELETE FROM removed WHERE number = ?", [number])
    return True


def _merge(tables: IndexTables, pages: int) -> int:
    """Merge trigrams. A negative number starts a merge of all segments, a positive one continues it."""
    return tables.merge(pages) if tables.trigrams else 0


def _forget_ids(connection: sqlite3.Connection, named_seconds: float) -> bool:
    latest = int((time.time() - named_seconds) * 1e6)
    connection.execute(
        "UPDATE state SET forgotten = max(forgotten, (SELECT coalesce(max(change), 0) FROM deleted"
        " WHERE change <= ?))",
        [latest],
    )
    connection.execute("DELETE FROM deleted WHERE change <= ?", [latest])
    return True


def _free_pages(connection: sqlite3.Connection) -> int:
    (pages,) = connection.execute("PRAGMA freelist_count").fetchone()
    return int(pages)
