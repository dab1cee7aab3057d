"""The index of the kept conversations: a cache in SQLite that lists, searches and notices changes.

Everything in it comes from the conversations' files; it is built again from them when it is missing, damaged
or old. Several daemons use it at once. A failure of the index is logged and loses no conversation.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jumpseat.conversations.directories import refuse_unsafe
from jumpseat.conversations.index_pages import Page, changes_since, read_page
from jumpseat.conversations.index_tables import IndexTables, transaction
from jumpseat.system.state_file import StateError
from jumpseat.system.watch import stamp_of

if TYPE_CHECKING:
    from jumpseat.conversations.store import Change, ConversationStore

T = TypeVar("T")

logger = logging.getLogger(__name__)

FILE_NAME = "index.sqlite3"

LOCK_SECONDS = 10.0
"""How long a statement waits for another daemon's."""

FILES_PER_TRANSACTION = 500
"""So many files are read while other daemons have to wait."""

MEMORY_SECONDS = 60.0
"""How long an index in memory is used before the file is tried again."""

CLOSE_SECONDS = 1.0


class ConversationIndex:
    """The index of one store. Its methods block; any thread may call them, several at a time."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store
        self._path = store.directory / FILE_NAME
        self._damaged_path = store.directory / f"{FILE_NAME}.damaged"
        self._lock = threading.Lock()
        self._tables: IndexTables | None = None
        self._inode: int | None = None
        """Of the open file; None for an index in memory."""

        self._memory_until = 0.0
        self._has_directory = False
        self._pending: deque[Change] = deque()
        # One thread, so that writing the index delays no turn.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="conversation-index")

    def page(
        self,
        *,
        directory: str | None = None,
        query: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """A page of the list; parameters and errors as for `read_page`."""
        return self._read(
            lambda tables: read_page(
                tables.connection,
                directory=directory,
                query=query,
                limit=limit,
                cursor=cursor,
                trigrams=tables.trigrams,
            )
        )

    def changes_since(self, known: int) -> tuple[list[str] | None, int]:
        """Conversations that changed, as the function of this name returns them."""
        return self._read(lambda tables: changes_since(tables.connection, known))

    def close(self) -> None:
        """Write what is pending, within a second, and close the file."""
        with contextlib.suppress(TimeoutError):
            self._submit().result(CLOSE_SECONDS)
        self._writer.shutdown(wait=False)
        if self._lock.acquire(timeout=CLOSE_SECONDS):
            self._close_file()
            self._lock.release()

    def add(self, change: Change) -> None:
        """Index a change of the store soon, without waiting."""
        self._pending.append(change)
        with contextlib.suppress(RuntimeError):  # The index was closed.
            self._submit()

    def _submit(self) -> Future[None]:
        return self._writer.submit(self._write_pending)

    def _write_pending(self) -> None:
        with contextlib.suppress(sqlite3.Error, OSError, StateError):  # Logged.
            self._read(lambda tables: None)

    def _read(self, read: Callable[[IndexTables], T]) -> T:
        """Open the index if necessary, write what is pending, and read in one transaction.

        Raises:
            StateError: the directory is not safe.
            sqlite3.Error: the index cannot be used, not even in memory.
        """
        refuse_unsafe(self._store.directory)
        with self._lock:
            try:
                return self._try(read)
            except (sqlite3.Error, OSError) as error:
                logger.warning("the index %s cannot be used: %s; it is built again", self._path, error)
                self._close_file()
                if _is_damaged(error):
                    self._set_aside()
            try:
                return self._try(read)
            except (sqlite3.Error, OSError) as error:
                logger.warning("the index %s cannot be used: %s; it is built in memory", self._path, error)
                self._close_file()
                self._open(in_memory=True)
                return self._try(read)

    def _try(self, read: Callable[[IndexTables], T]) -> T:
        tables = self._current_tables() or self._open()
        while self._pending:
            # If this fails the index is opened again, and reads the file.
            self._apply(tables, self._pending.popleft())
        with transaction(tables.connection, "BEGIN"):
            return read(tables)

    def _current_tables(self) -> IndexTables | None:
        """The open tables; None if they have to be opened, perhaps again."""
        tables = self._tables
        if tables is None:
            return None
        if self._inode is None:
            is_current = time.monotonic() < self._memory_until and (
                self._has_directory == self._store.directory.is_dir()
            )
        else:
            # Another daemon may have set the file aside, or may be newer and have built it again.
            is_current = self._inode == _inode_of(self._path) and tables.are_ours()
        if not is_current:
            self._close_file()
            return None
        if self._inode is None:
            self._synchronize(tables)  # No other daemon writes into it.
        return tables

    def _apply(self, tables: IndexTables, change: Change) -> None:
        with transaction(tables.connection):
            if change.row is None or change.stamp is None:
                tables.remove(change.id)
                # It may have texts of the deleted conversation.
                self._damaged_path.unlink(missing_ok=True)
                return
            known = tables.stamp(change.id)
            if known == change.stamp:
                return
            size = 0 if known is None else known[2]
            if size == change.size_before:
                tables.put(change.row, change.stamp, change.texts, add=True)
            else:  # The index does not have what was before this change.
                self._put_file(tables, change.id)

    def _open(self, *, in_memory: bool = False) -> IndexTables:
        self._has_directory = self._store.directory.is_dir()
        if in_memory or not self._has_directory:
            self._inode, name = None, ":memory:"
            self._memory_until = time.monotonic() + MEMORY_SECONDS
        else:
            # Created here, because SQLite would create it with the default mode.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
            self._inode, name = self._path.stat().st_ino, str(self._path)
        # Transactions are explicit. The lock of this object keeps other threads away.
        connection = sqlite3.connect(
            name, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._tables = tables = IndexTables(connection)
        connection.execute("PRAGMA secure_delete = ON")
        with transaction(connection):
            are_ours = tables.prepare()
        if not are_ours:
            logger.info("%s is of a newer version of jumpseat; the index is built in memory", self._path)
            self._close_file()
            return self._open(in_memory=True)
        self._synchronize(tables)
        return tables

    def _synchronize(self, tables: IndexTables) -> None:
        """Index each file that was changed by a process that could not index it."""
        gone = tables.stamps()
        stale = [id_ for id_, stamp in self._store.files() if gone.pop(id_, None) != stamp]
        for start in range(0, len(stale), FILES_PER_TRANSACTION):
            with transaction(tables.connection):
                for id_ in stale[start : start + FILES_PER_TRANSACTION]:
                    self._put_file(tables, id_)
        if gone:
            with transaction(tables.connection):
                present = {id_ for id_, _ in self._store.files()}
                for id_ in gone.keys() - present:
                    tables.remove(id_)

    def _put_file(self, tables: IndexTables, id_: str) -> None:
        try:
            whole = self._store.snapshot(id_)
        except (OSError, StateError) as error:
            logger.warning("the conversation %s cannot be indexed: %s", id_, error)
            return
        if whole is None or whole.row is None or whole.stamp is None:
            tables.remove(id_)
        elif whole.stamp != tables.stamp(id_):
            tables.put(whole.row, whole.stamp, whole.texts, add=False)

    def _set_aside(self) -> None:
        # Only a cache, so the last damaged one is enough.
        with contextlib.suppress(OSError):
            self._path.replace(self._damaged_path)
            self._path.with_name(f"{FILE_NAME}-journal").unlink(missing_ok=True)

    def _close_file(self) -> None:
        if self._tables is not None:
            with contextlib.suppress(sqlite3.Error):
                self._tables.connection.close()
        self._tables = None


def _is_damaged(error: Exception) -> bool:
    # Locked, full or unreadable files are OperationalErrors and not damaged.
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)


def _inode_of(path: Path) -> int | None:
    stamp = stamp_of(path)
    return None if stamp is None else stamp[1]
