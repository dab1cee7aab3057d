"""Finds the line of each key in a TOML text, for messages about faults.

`tomllib` does not record positions, so the text is split into statements: the shortest sequence of lines that
`tomllib` accepts is one statement, and the result of parsing it contains its keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""The keys from the top of the file down. An int is an array index."""

_MAY_BEGIN = re.compile(r"""\s*(?:\[|\#|$|[\w"'-][^=]*=)""")
"""Matches blank lines, comments, and lines that may begin a statement."""

MAX_LINES = 5000
"""The number of lines to search. No configuration written by hand is longer."""


def line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """Return the line of a key, or else of the nearest enclosing table in `lines`; None if there is none."""
    return next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), None)


def lines_of_keys(text: str) -> dict[KeyPath, int]:
    """Return the line, counted from 1, on which each key or table of a valid TOML text begins.

    A table without a header begins at its first key or nested table.
    """
    found: dict[KeyPath, int] = {}
    implied: dict[KeyPath, int] = {}
    table: KeyPath = ()
    lengths: dict[KeyPath, int] = {}
    for line, content in _statements(text):
        if content is None:
            continue
        statement, is_header = content
        if is_header:
            table = _parse_header(statement, lengths)
            found[table] = line
            for n in range(1, len(table)):
                implied.setdefault(table[:n], line)
            continue
        for path in _paths(statement):
            found.setdefault((*table, *path), line)
    return {**implied, **found}


def _statements(text: str) -> Iterator[tuple[int, tuple[dict[str, Any], bool] | None]]:
    """Yield the line on which each statement begins, with its parsed tables and whether it is a table header.

    The second item is None for blank lines and comments.
    """
    # `splitlines` would also split at characters that do not end a line in TOML.
    lines = text.replace("\r\n", "\n").split("\n")
    start = 0
    while start < min(len(lines), MAX_LINES):
        for end in range(start + 1, len(lines) + 1):
            # If the next line cannot begin a statement, the current statement has not ended. Without this
            # check, a long array would be parsed again for each of its lines.
            if end < len(lines) and not _MAY_BEGIN.match(lines[end]):
                continue
            piece = "\n".join(lines[start:end])
            try:
                parsed = tomllib.loads(piece)
            except tomllib.TOMLDecodeError:
                continue
            yield start + 1, (parsed, piece.lstrip().startswith("[")) if parsed else None
            start = end
            break
        else:
            return


def _parse_header(parsed: Mapping[str, Any], lengths: dict[KeyPath, int]) -> KeyPath:
    """Return the path of the table that a header opens.

    `[[x]]` appends a table to an array, and `[x.y]` then belongs to the last table of that array.

    Args:
        parsed: the header, parsed as a text of its own.
        lengths: the length of each array of tables so far; updated.
    """
    path: KeyPath = ()
    value: Any = parsed
    while value:
        if isinstance(value, list):
            lengths[path] = lengths.get(path, 0) + 1
            return (*path, lengths[path] - 1)
        key, value = next(iter(value.items()))
        path = (*path, key)
        if path in lengths and not isinstance(value, list):
            path = (*path, lengths[path] - 1)
    return path


def _paths(value: Any) -> Iterator[KeyPath]:
    """Yield the paths of all keys in a parsed value, including inline tables and arrays."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (key,)
        for path in _paths(inner):
            yield (key, *path)
