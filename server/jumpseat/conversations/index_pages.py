"""Reads the tables of the index: pages of a list, searches, and the changes after a given change.

A cursor contains the position of its page's last row, and the number of the last change when the page was
read. The next page starts with the rows before that position that have changed since, followed by the rows
after the position. So a row that moves to the front in the meantime is not lost, and no row is repeated
unless it has changed.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from jumpseat.chat import InvalidRequestError
from jumpseat.conversations.directories import directory_key, resolve_links
from jumpseat.conversations.index_tables import TEXTS_BITS, fold_text, row_from_json
from jumpseat.conversations.rows import Row

MAX_NAMED_CHANGES = 100
"""The maximum number of changed conversations to name. After more changes, clients list everything again."""

_TRIGRAM = 3

_MAX_CONDITIONS = 100
"""The maximum number of words that have their own SQL conditions, and of trigrams in one condition.

SQLite limits both. All other words of a query share one condition.
"""

_HAS_TEXT = (
    "EXISTS (SELECT 1 FROM texts"  # noqa: S608 - a constant is put in
    f" WHERE texts.id BETWEEN number << {TEXTS_BITS} AND (number + 1 << {TEXTS_BITS}) - 1"
)
_HAS_WORD = f"{_HAS_TEXT} AND instr(text, ?))"
_HAS_WORDS = (
    f"NOT EXISTS (SELECT 1 FROM json_each(?) AS word WHERE NOT {_HAS_TEXT} AND instr(text, word.value)))"  # noqa: S608 - only constants
)
# Preselect the candidates for a word by its trigrams. A rare word has few candidates. For a common word, the
# first rows fill the page, which ends the search early.
_MAY_HAVE_WORD = f"number IN (SELECT rowid >> {TEXTS_BITS} FROM trigrams WHERE trigrams MATCH ?)"  # noqa: S608 - only constants


_IS_LAST_BRANCH = (
    "NOT EXISTS (SELECT 1 FROM conversations AS other WHERE other.session = conversations.session AND"
    " (other.used, other.updated, other.id) > (conversations.used, conversations.updated, conversations.id))"
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list."""

    conversations: tuple[Row, ...]
    next_cursor: str | None


class _Found(NamedTuple):
    updated: int
    id: str
    change: int
    session: str
    json: str


class _Cursor(NamedTuple):
    updated: int
    id: str
    """Together with `updated`, the position of the last row."""

    changes: int
    """The number of the last change that the earlier pages include."""

    generation: str
    """The index's generation. In a rebuilt index, the numbers of changes are different."""


_START = _Cursor((1 << 63) - 1, "", 0, "")
"""The position before the first row."""


class _Filter(NamedTuple):
    condition: str
    values: tuple[Any, ...]


def read_page(
    connection: sqlite3.Connection,
    *,
    directory: str | None,
    query: str | None,
    limit: int,
    cursor: str | None,
    by_session: bool = False,
    trigrams: bool,
    is_complete: bool = True,
) -> Page:
    """Return the next page of a list, most recently updated first. Runs in the caller's transaction.

    Args:
        connection: a connection to prepared tables.
        directory: selects the conversations whose working directory is this absolute path or is below it.
        query: selects the conversations that contain each of these words in the title or in a text.
        limit: the maximum number of rows of a page.
        cursor: `next_cursor` of the previous page; None for the first page.
        by_session: whether to list each session only once. The row of a session is the row of its last used
            branch, but has the session's id.
        trigrams: whether the tables have trigrams.
        is_complete: whether all conversations are indexed; if not, there is always a next page.

    Raises:
        InvalidRequestError: the cursor is invalid.
    """
    generation, changes = connection.execute("SELECT generation, changes FROM state").fetchone()
    after = _decode_cursor(cursor) if cursor is not None else None
    if after is not None and after.generation != generation:
        # The index was rebuilt: its rows have the same order, but their changes have new numbers. So the
        # changes since the previous page are unknown and are left out.
        after = after._replace(changes=changes)
    selection = _build_filter(directory, query, trigrams=trigrams, by_session=by_session)

    changed: list[_Found] = []
    are_more_changed = False
    position, values = "1", []
    if after is not None:
        # Select the earliest changes first, so that the later ones remain for the next page.
        place = [after.updated, after.id]
        changed = _select(
            connection,
            selection,
            "change > ? AND (updated, id) >= (?, ?)",
            [after.changes, *place],
            "change",
            limit + 1,
        )
        if are_more_changed := len(changed) > limit:
            del changed[limit:]
            changes = changed[-1].change
        position, values = "(updated, id) < (?, ?)", place
    rest = limit - len(changed)
    others = _select(connection, selection, position, values, "updated DESC, id DESC", rest + 1)
    next_cursor = None
    if are_more_changed or len(others) > rest or not is_complete:
        del others[rest:]
        # If this page has only changed rows, the position stays the same.
        last = others[-1] if others else after or _START
        next_cursor = _encode_cursor(_Cursor(last.updated, last.id, changes, generation))
    rows = sorted(changed, reverse=True) + others
    listed = [(row_from_json(row.json), row.session) for row in rows]
    return Page(
        tuple(replace(row, id=session) if by_session else row for row, session in listed), next_cursor
    )


def _select(
    connection: sqlite3.Connection,
    selection: _Filter,
    position: str,
    values: Sequence[Any],
    order: str,
    limit: int,
) -> list[_Found]:
    # Only constants of this module are inserted into the statement.
    rows = connection.execute(
        f"SELECT updated, id, change, session, row FROM conversations WHERE {position}{selection.condition}"  # noqa: S608 - only constants
        f" ORDER BY {order} LIMIT ?",
        [*values, *selection.values, limit],
    )
    return [_Found(*row) for row in rows]


def _build_filter(directory: str | None, query: str | None, *, trigrams: bool, by_session: bool) -> _Filter:
    conditions = [_IS_LAST_BRANCH] if by_session else []
    values: list[Any] = []
    if directory is not None:
        key = directory_key(resolve_links(directory))
        conditions.append("substr(directory, 1, ?) = ?")
        values += [len(key), key]
    words = sorted(set(fold_text(query or "").split()), key=len, reverse=True)
    for word in words[:_MAX_CONDITIONS]:
        if trigrams and len(word) >= _TRIGRAM:
            starts = range(min(len(word) - 2, _MAX_CONDITIONS))
            conditions.append(_MAY_HAVE_WORD)
            values.append(" ".join(f'"{_escape_quotes(word[at : at + _TRIGRAM])}"' for at in starts))
        conditions.append(_HAS_WORD)
        values.append(word)
    if more := words[_MAX_CONDITIONS:]:
        conditions.append(_HAS_WORDS)
        values.append(json.dumps(more))
    return _Filter("".join(f" AND {each}" for each in conditions), tuple(values))


def _escape_quotes(text: str) -> str:
    return text.replace('"', '""')


def changes_since(connection: sqlite3.Connection, known: int) -> tuple[list[str] | None, int]:
    """Return the ids of the conversations that changed after a known change, and the last change's number.

    Args:
        connection: a connection to prepared tables.
        known: the number of the known change, or a time in microseconds since 1970: `index_tables` derives
            the numbers of changes from the time.

    Returns:
        The ids and the number. The ids are empty if nothing has changed, and None if they are too many or no
        longer known.
    """
    changes, forgotten = connection.execute("SELECT changes, forgotten FROM state").fetchone()
    if known < forgotten:
        return None, max(known, changes)
    ids = connection.execute(
        "SELECT id FROM (SELECT id, change FROM conversations WHERE change > :known"
        " UNION ALL SELECT id, change FROM deleted WHERE change > :known) ORDER BY change LIMIT :limit",
        {"known": known, "limit": MAX_NAMED_CHANGES + 1},
    ).fetchall()
    return (None if len(ids) > MAX_NAMED_CHANGES else [id_ for (id_,) in ids]), max(known, changes)


def _encode_cursor(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(json.dumps(cursor, separators=(",", ":")).encode()).decode()


def _decode_cursor(text: str) -> _Cursor:
    try:
        cursor = _Cursor(*json.loads(base64.b64decode(text.encode("ascii"), b"-_", validate=True)))
    except (ValueError, TypeError, RecursionError):
        raise _make_cursor_error() from None
    is_valid = all(type(value) is kind for value, kind in zip(cursor, (int, str, int, str), strict=True))
    if not is_valid or not all(abs(number) < 1 << 63 for number in (cursor.updated, cursor.changes)):
        raise _make_cursor_error()
    return cursor


def _make_cursor_error() -> InvalidRequestError:
    return InvalidRequestError.at("cursor", "must be the nextCursor of an earlier list")
