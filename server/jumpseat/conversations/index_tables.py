"""The tables of the index: rows for lists, folded texts for search, numbered changes.

SQLite cannot ignore the case of letters beyond ASCII, so texts are folded before they are stored. A change's
number is its time in microseconds since 1970, or one more than the previous number, whichever is higher.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
import time
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import cache

from jumpseat.conversations.directories import directory_key
from jumpseat.conversations.rows import Row
from jumpseat.system.watch import Stamp

VERSION = 3
"""The version of the tables. A file of another version is rebuilt."""

CLEAN_SECONDS = 10.0
"""The time from a deletion to the cleaning, which removes the remains of all deletions up to then."""

CLEAN_PRUNED_SECONDS = 600.0
"""The time from a deletion by pruning to the cleaning. Pruning may delete a conversation after every turn, so
the cleaning waits for further deletions."""

MANY_REMOVED = 100
"""With this many deletions, a cleaning starts after `CLEAN_SECONDS`, even if all of them are by pruning."""

LOCK_SECONDS = 1.0
"""The time for which a statement waits for another process. Most transactions take at most a tenth of it."""

TEXTS_BITS = 20
"""The number of low bits of a text's id, which are the number of the text within its conversation.

The high bits are the number of the conversation.
"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_TABLES = """
CREATE TABLE state (
    generation TEXT NOT NULL, changes INTEGER NOT NULL, forgotten INTEGER NOT NULL DEFAULT 0,
    stage INTEGER NOT NULL DEFAULT 0, clean_at REAL, clean_next REAL
);
CREATE TABLE conversations (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, updated INTEGER NOT NULL,
    change INTEGER NOT NULL, session TEXT NOT NULL, used INTEGER NOT NULL, directory TEXT,
    row TEXT NOT NULL, mtime INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL
);
CREATE INDEX by_time ON conversations (updated, id);
CREATE INDEX by_change ON conversations (change);
CREATE INDEX by_session ON conversations (session, used, updated, id);
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE deleted (id TEXT PRIMARY KEY, change INTEGER NOT NULL);
CREATE TABLE removed (number INTEGER PRIMARY KEY);
"""

_TRIGRAMS = """
CREATE VIRTUAL TABLE trigrams USING fts5(
    text, content='texts', content_rowid='id', detail='none', columnsize=0,
    tokenize='trigram case_sensitive 1'
);
"""


def fold_text(text: str) -> str:
    """Return a text as it is stored and searched: without case, with each accented letter in one form."""
    # SQLite's texts cannot contain lone surrogates or NUL.
    folded = unicodedata.normalize("NFC", text.casefold()).replace("\0", " ")
    return folded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@cache
def has_trigrams() -> bool:
    """Whether this SQLite supports searches by trigrams: FTS5 in version 3.34 or newer."""
    memory = sqlite3.connect(":memory:")
    try:
        memory.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='trigram')")
    except sqlite3.OperationalError:
        return False
    finally:
        memory.close()
    return True


def connect(name: str) -> IndexTables:
    """Open a file, or ":memory:". One thread at a time may use the connection; transactions are explicit."""
    connection = sqlite3.connect(name, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA secure_delete = ON")
    # A transaction that spills its pages would lock out readers before it commits.
    connection.execute("PRAGMA cache_spill = OFF")
    return IndexTables(connection)


def is_damaged(error: Exception) -> bool:
    """Whether the file is damaged or lacks a table. A locked, full or unreadable file is not damaged."""
    if isinstance(error, sqlite3.OperationalError):
        # SQLite has no separate code for a missing table: a search with too many words has the same code.
        return str(error).startswith(("no such table", "vtable constructor failed"))
    return isinstance(error, sqlite3.DatabaseError)


def is_locked(error: Exception) -> bool:
    """Whether another process has had the file locked for `LOCK_SECONDS`."""
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Run a transaction, which an exception rolls back."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


class IndexTables:
    """The tables, with the statements that write to them.

    Call `prepare` first. Call the methods that write within a transaction.
    """

    # Avoid statements that may fail after changing only some of their rows (`INSERT … SELECT`, `UPDATE`
    # without the key). They make FTS5 write its pending trigrams, which takes longer than all other work
    # together if it happens for each conversation.

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.trigrams = has_trigrams()
        # A SQLite without trigram support must not write to tables with trigrams.
        self._kind = VERSION * 2 + self.trigrams

    def are_ours(self) -> bool:
        """Whether the tables have this version, and trigrams if and only if this SQLite supports them."""
        (kind,) = self.connection.execute("PRAGMA user_version").fetchone()
        return bool(kind == self._kind)

    def prepare(self) -> bool:
        """Create the tables if the file is new; return False if it contains tables of another version."""
        (kind,) = self.connection.execute("PRAGMA user_version").fetchone()
        if kind:
            return bool(kind == self._kind)
        self.connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        with transaction(self.connection):
            self._create_tables()
        return self.are_ours()

    def _create_tables(self) -> None:
        if self.connection.execute("PRAGMA user_version").fetchone() != (0,):
            return  # Another process has created them meanwhile.
        for statement in (_TABLES + (_TRIGRAMS if self.trigrams else "")).split(";"):
            self.connection.execute(statement)
        self.connection.execute(
            "INSERT INTO state (generation, changes) VALUES (?, 0)", [secrets.token_hex(4)]
        )
        self.connection.execute(f"PRAGMA user_version = {self._kind}")

    def stamps(self) -> dict[str, Stamp]:
        """Return the stamp that each conversation's file had when it was indexed."""
        rows = self.connection.execute("SELECT id, mtime, inode, size FROM conversations")
        return {id_: (mtime, inode, size) for id_, mtime, inode, size in rows}

    def stamp(self, id_: str) -> Stamp | None:
        """Return the stamp of one conversation; None if it is not indexed."""
        statement = "SELECT mtime, inode, size FROM conversations WHERE id = ?"
        stamp: Stamp | None = self.connection.execute(statement, [id_]).fetchone()
        return stamp

    def put(
        self, row: Row, stamp: Stamp, texts: Iterable[str], session: tuple[str, datetime], *, add: bool
    ) -> None:
        """Index a conversation.

        Args:
            row: the conversation's current row.
            stamp: the stamp of the conversation's file.
            texts: the texts of its messages.
            session: the session of which the conversation is a branch, and the time of the branch's last use.
            add: whether to add the texts to the earlier ones instead of replacing them.
        """
        number = self._find_number(row.id)
        values = (
            _count_microseconds(row.updated_at),
            self._allocate_change(),
            session[0],
            _count_microseconds(session[1]),
            None if row.cwd is None else directory_key(row.cwd),
            json.dumps(_row_to_json(row)),
            *stamp,
        )
        if number is None:
            self.connection.execute("DELETE FROM deleted WHERE id = ?", [row.id])
            number = self.connection.execute(
                "INSERT INTO conversations"
                " (id, updated, change, session, used, directory, row, mtime, inode, size)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (row.id, *values),
            ).lastrowid
            assert number is not None  # noqa: S101 - for the type checker: a row was inserted
        else:
            self.connection.execute(
                "UPDATE conversations SET updated = ?, change = ?, session = ?, used = ?, directory = ?,"
                " row = ?, mtime = ?, inode = ?, size = ? WHERE number = ?",
                (*values, number),
            )
        self._put_texts(number, row.title, texts, add=add)

    def remove(self, id_: str, *, pruned: bool = False) -> None:
        """Remove a conversation from lists, record its deletion, and schedule the removal of its texts."""
        number = self._find_number(id_)
        if number is None:
            return
        self.connection.execute("DELETE FROM conversations WHERE number = ?", [number])
        self.connection.execute("INSERT INTO removed VALUES (?)", [number])
        change = self._allocate_change()
        self.connection.execute("INSERT OR REPLACE INTO deleted VALUES (?, ?)", [id_, change])
        (removed,) = self.connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM removed LIMIT ?)", [MANY_REMOVED]
        ).fetchone()
        can_wait = pruned and removed < MANY_REMOVED
        clean_at = time.time() + (CLEAN_PRUNED_SECONDS if can_wait else CLEAN_SECONDS)
        # A cleaning that has begun (stage > 0) does not remove these texts, so schedule the next one.
        for column, condition in (("clean_at", "stage = 0"), ("clean_next", "stage > 0")):
            self.connection.execute(
                f"UPDATE state SET {column} = min(coalesce({column}, :at), :at) WHERE {condition}",  # noqa: S608 - only constants are put in
                {"at": clean_at},
            )

    def remove_texts(self, number: int) -> None:
        """Remove all texts of a conversation."""
        self._remove_texts(*_text_id_range(number))

    def merge(self, pages: int) -> int:
        """Merge trigram segments with FTS5's command `merge`; return the number of changed rows."""
        before = self.connection.total_changes
        self.connection.execute("INSERT INTO trigrams (trigrams, rank) VALUES ('merge', ?)", [pages])
        return self.connection.total_changes - before

    def _find_number(self, id_: str) -> int | None:
        found = self.connection.execute("SELECT number FROM conversations WHERE id = ?", [id_]).fetchone()
        return None if found is None else found[0]

    def _allocate_change(self) -> int:
        self.connection.execute(
            "UPDATE state SET changes = max(changes + 1, ?) WHERE rowid = 1", [time.time_ns() // 1000]
        )
        (change,) = self.connection.execute("SELECT changes FROM state").fetchone()
        return int(change)

    def _put_texts(self, number: int, title: str, texts: Iterable[str], *, add: bool) -> None:
        first, last = _text_id_range(number)
        # The title has the first id, so that it can be replaced when it changes.
        self._remove_texts(first, first if add else last)
        (highest,) = self.connection.execute(
            "SELECT coalesce(max(id), ?) FROM texts WHERE id BETWEEN ? AND ?", [first, first, last]
        ).fetchone()
        joined = fold_text("\n".join(texts))
        new = [(first, fold_text(title))]
        if joined and highest < last:
            new.append((highest + 1, joined))
        self.connection.executemany("INSERT INTO texts VALUES (?, ?)", new)
        if self.trigrams:
            self.connection.executemany("INSERT INTO trigrams (rowid, text) VALUES (?, ?)", new)

    def _remove_texts(self, first: int, last: int) -> None:
        if self.trigrams:
            # Remove the trigrams first, because they are computed from the texts.
            old = self.connection.execute(
                "SELECT id, text FROM texts WHERE id BETWEEN ? AND ?", [first, last]
            ).fetchall()
            self.connection.executemany(
                "INSERT INTO trigrams (trigrams, rowid, text) VALUES ('delete', ?, ?)", old
            )
        self.connection.execute("DELETE FROM texts WHERE id BETWEEN ? AND ?", [first, last])


def _count_microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _text_id_range(number: int) -> tuple[int, int]:
    first = number << TEXTS_BITS
    return first, first + (1 << TEXTS_BITS) - 1


def _row_to_json(row: Row) -> dict[str, object]:
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    return values | {"created_at": row.created_at.isoformat(), "updated_at": row.updated_at.isoformat()}


def row_from_json(text: str) -> Row:
    """Parse a row that `put` stored."""
    values = json.loads(text)
    for name in ("created_at", "updated_at"):
        values[name] = datetime.fromisoformat(values[name])
    return Row(**values)
