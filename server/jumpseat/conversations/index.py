"""The index of the kept conversations: a SQLite cache for lists, searches and notifications about changes.

All its contents come from the conversations' files, and it is rebuilt if it is missing, damaged or of another
version. Several daemons may use it simultaneously. A failure of the index is logged, and does not affect the
conversations. While the index's file cannot be used, an index in memory replaces it.

Indexing many files takes a long time. So a request for a list indexes files for a moment, newest first, and
returns the conversations indexed so far. A thread indexes the rest in short transactions, so that other
requests and daemons can use the index in between.
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
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jumpseat.conversations.changes import Change
from jumpseat.conversations.directories import check_directory
from jumpseat.conversations.index_cleaning import read_due_time, run_cleaning_step
from jumpseat.conversations.index_pages import Page, changes_since, read_page
from jumpseat.conversations.index_tables import (
    CLEAN_SECONDS,
    IndexTables,
    connect,
    is_damaged,
    is_locked,
    transaction,
)
from jumpseat.system.state_file import StateError
from jumpseat.system.watch import Stamp, stamp_of

if TYPE_CHECKING:
    from jumpseat.conversations.store import ConversationStore

T = TypeVar("T")

logger = logging.getLogger(__name__)

FILE_NAME = "index.sqlite3"

LIST_SECONDS = 0.2
"""The maximum time for which a request for a list indexes files before it returns."""

STEP_SECONDS = 0.1
"""The time limit of a transaction of the indexing thread."""

PAUSE_SECONDS = 0.02
"""The pause between two transactions of the indexing thread."""

RETRY_SECONDS = 1.0
"""The delay after which the indexing thread retries a failed transaction."""

CLOSE_SECONDS = 1.0
"""The time for which `close` waits for the lock, and the time limit for writing the pending changes."""

CLEAN_AT_CLOSE_SECONDS = 5.0
"""The time limit for cleaning in `close`."""


class ConversationIndex:
    """The index of one store. Its methods block. Thread-safe."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store
        self._path = store.directory / FILE_NAME
        self._lock = threading.Lock()
        self._file: IndexTables | None = None
        self._inode: int | None = None
        """The inode of the open file."""

        self._memory: IndexTables | None = None
        """The index in memory, which replaces an unusable file."""

        self._pending: deque[Change] = deque()
        self._stale: list[tuple[str, Stamp]] = []
        """The files whose latest state is not in the current tables, newest last."""

        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def page(
        self,
        *,
        directory: str | None = None,
        query: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        by_session: bool = False,
    ) -> Page:
        """Return a page of the list; parameters and errors are the same as for `read_page`.

        Raises:
            StateError: the directory is not safe.
        """
        return self._read(
            lambda tables: read_page(
                tables.connection,
                directory=directory,
                query=query,
                limit=limit,
                cursor=cursor,
                by_session=by_session,
                trigrams=tables.trigrams,
                is_complete=not self._stale,
            ),
            fill_seconds=LIST_SECONDS,
        )

    def changes_since(self, known: int) -> tuple[list[str] | None, int]:
        """Return the conversations that changed; see `index_pages.changes_since`.

        Raises:
            StateError: the directory is not safe, or the index cannot be read now, for example because
                another process has locked it.
        """
        try:
            return self._read(lambda tables: changes_since(tables.connection, known), in_background=True)
        except sqlite3.Error as error:
            raise StateError(f"{self._path} cannot be read: {error}.") from None

    def add(self, change: Change) -> None:
        """Index a change of the store soon, without waiting."""
        if not self._closed:
            self._pending.append(change)
            self._start_work()

    def close(self) -> None:
        """Write pending changes, clean up after deletions and close the file, all within a few seconds."""
        self._closed = True
        self._wake.set()
        if not self._lock.acquire(timeout=CLOSE_SECONDS):
            return
        try:
            # If this fails, the next process that opens the index completes the work.
            with contextlib.suppress(sqlite3.Error, OSError, StateError):
                if self._pending or self._file is not None:
                    check_directory(self._store.directory)
                    self._finish(self._file_tables())
            self._close_file()
            self._close_memory()
        finally:
            self._lock.release()

    def _finish(self, tables: IndexTables) -> None:
        self._write_pending(tables, CLOSE_SECONDS)
        end = time.monotonic() + CLEAN_AT_CLOSE_SECONDS
        # Clean up after the user's deletions now. A cleaning after pruning, which is due later, can wait.
        while (
            (at := read_due_time(tables)) is not None
            and at < time.time() + CLEAN_SECONDS
            and time.monotonic() < end
        ):
            run_cleaning_step(tables, keep_names=False)

    def _start_work(self) -> None:
        self._wake.set()
        if self._thread is None:
            # Write in a thread, so that turns do not wait for the index.
            self._thread = threading.Thread(target=self._work, name="conversation-index", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        seconds: float | None = 0.0
        while not self._closed:
            self._wake.wait(seconds)
            self._wake.clear()
            try:
                seconds = self._run(self._clean_if_due, fill_seconds=STEP_SECONDS, in_background=True)
            except (sqlite3.Error, OSError, StateError) as error:
                logger.debug("the index %s will be written later: %s", self._path, error)
                seconds = RETRY_SECONDS
            time.sleep(PAUSE_SECONDS)

    def _clean_if_due(self, tables: IndexTables) -> float | None:
        """Run one cleaning transaction if it is due and nothing remains to be indexed.

        Returns:
            The seconds until the thread must continue; None if it has nothing to do.
        """
        if self._pending or self._stale:
            return 0.0
        at = None if tables is self._memory else read_due_time(tables)
        if at is None or at > time.time():
            return None if at is None else at - time.time()
        run_cleaning_step(tables)
        return 0.0

    def _read(
        self, read: Callable[[IndexTables], T], *, fill_seconds: float = 0.0, in_background: bool = False
    ) -> T:
        def in_transaction(tables: IndexTables) -> T:
            with transaction(tables.connection, "BEGIN"):
                return read(tables)

        return self._run(in_transaction, fill_seconds=fill_seconds, in_background=in_background)

    def _run(
        self, action: Callable[[IndexTables], T], *, fill_seconds: float, in_background: bool = False
    ) -> T:
        """Open the index if necessary, write pending changes, and return the result of `action`.

        Args:
            action: called with the tables.
            fill_seconds: the time for which stale files are indexed first.
            in_background: whether to fail if the index was closed or another process has locked its file.
                Otherwise, an index in memory replaces a locked file.

        Raises:
            StateError: the directory is not safe.
            sqlite3.Error: the index cannot be used, not even in memory.
        """
        check_directory(self._store.directory)
        with self._lock:
            if in_background and self._closed:
                raise sqlite3.ProgrammingError("it was closed")
            if self._store.directory.is_dir():
                # If the file cannot be used, reopen it or, if it is damaged, rebuild it; then try once more.
                for is_last in (False, True):
                    try:
                        result = self._try_tables(self._file_tables(), action, fill_seconds)
                        self._close_memory()
                        return result
                    except (sqlite3.Error, OSError) as error:
                        if is_locked(error) and in_background:
                            raise
                        if self._memory is None:
                            logger.warning("the index %s cannot be used: %s", self._path, error)
                        self._close_file()
                        if is_last or is_locked(error):
                            break
                        if is_damaged(error):
                            with contextlib.suppress(OSError):
                                self._delete_file()
            self._close_file()
            return self._try_tables(self._memory_tables(), action, fill_seconds)

    def _try_tables(self, tables: IndexTables, action: Callable[[IndexTables], T], fill_seconds: float) -> T:
        try:
            self._write_pending(tables, STEP_SECONDS)
            self._write_stale(tables, fill_seconds)
        except sqlite3.Error as error:
            if not is_locked(error):
                raise  # The caller reopens the index, and so reads the files that are not indexed.
            # Another process has locked the file. Read it as it is; the thread writes the changes later.
        if self._pending or self._stale:
            self._start_work()
        return action(tables)

    def _file_tables(self) -> IndexTables:
        """Return the tables in the file, which is opened or reopened if necessary."""
        # Another daemon may have deleted the file, or rebuilt it for its own version.
        if self._file is not None and self._inode == _read_inode(self._path) and self._file.are_ours():
            return self._file
        self._close_file()
        tables = self._open_file()
        if not tables.prepare():
            # Delete the file, not only its tables: `auto_vacuum` can be set only in a new file.
            self._close_file()
            self._delete_file()
            tables = self._open_file()
            if not tables.prepare():
                raise OSError(f"a daemon of another version uses {self._path}")
        self._synchronize(tables)
        if read_due_time(tables) is not None:
            self._start_work()
        return tables

    def _memory_tables(self) -> IndexTables:
        if self._memory is None:
            self._memory = connect(":memory:")
            self._memory.prepare()
        if not self._stale:
            # Other daemons do not write to this index, so their changes must be read from the files.
            self._synchronize(self._memory)
        return self._memory

    def _write_pending(self, tables: IndexTables, seconds: float) -> None:
        end, done = time.monotonic() + seconds, []
        if not self._pending:
            return
        try:
            with transaction(tables.connection):
                while self._pending and time.monotonic() < end:
                    done.append(self._pending.popleft())
                    self._apply(tables, done[-1])
        except sqlite3.Error as error:
            if is_locked(error):
                self._pending.extendleft(reversed(done))
            raise

    def _write_stale(self, tables: IndexTables, seconds: float) -> None:
        end, done = time.monotonic() + seconds, []
        if not self._stale or not seconds:
            return
        try:
            with transaction(tables.connection):
                while self._stale and time.monotonic() < end:
                    done.append(self._stale.pop())
                    id_, stamp = done[-1]
                    if tables.stamp(id_) != stamp:  # If they are equal, another daemon has indexed the file.
                        self._put_file(tables, id_)
        except sqlite3.Error:
            self._stale.extend(reversed(done))
            raise

    def _apply(self, tables: IndexTables, change: Change) -> None:
        if change.row is None or change.stamp is None or change.session is None:
            self._put_file(tables, change.id, pruned=change.pruned)
            return
        known = tables.stamp(change.id)
        if known == change.stamp:
            return
        size = 0 if known is None else known[2]
        if size == change.size_before:
            tables.put(change.row, change.stamp, change.texts, change.session, add=True)
        else:  # The index lacks changes before this one.
            self._put_file(tables, change.id)

    def _open_file(self) -> IndexTables:
        # Create the file here, because SQLite would create it with the default mode.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        self._inode = self._path.stat().st_ino
        self._file = connect(str(self._path))
        return self._file

    def _synchronize(self, tables: IndexTables) -> None:
        """Find the files whose last change, or whose deletion, is not in these tables."""
        gone = tables.stamps()
        stale = [(id_, stamp) for id_, stamp in self._store.files() if gone.pop(id_, None) != stamp]
        self._stale = sorted(stale, key=lambda each: each[1])
        self._pending.extend(Change(id_, None, None, ()) for id_ in gone)

    def _put_file(self, tables: IndexTables, id_: str, *, pruned: bool = False) -> None:
        try:
            whole = self._store.snapshot(id_)
        except (OSError, StateError) as error:
            logger.warning("the conversation %s cannot be indexed: %s", id_, error)
            return
        if whole is None or whole.row is None or whole.stamp is None or whole.session is None:
            tables.remove(id_, pruned=pruned)
        elif whole.stamp != tables.stamp(id_):
            tables.put(whole.row, whole.stamp, whole.texts, whole.session, add=False)

    def _delete_file(self) -> None:
        for path in (self._path, self._path.with_name(f"{FILE_NAME}-journal")):
            path.unlink(missing_ok=True)

    def _close_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(sqlite3.Error):
                self._file.connection.close()
            self._stale = []
        self._file = None

    def _close_memory(self) -> None:
        if self._memory is not None:
            self._memory.connection.close()
        self._memory = None


def _read_inode(path: Path) -> int | None:
    stamp = stamp_of(path)
    return None if stamp is None else stamp[1]
