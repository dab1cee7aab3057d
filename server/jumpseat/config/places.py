"""The line of each key in a TOML text. Used only to report a fault.

`tomllib` keeps no positions. So the text is cut into statements: the shortest run of lines that `tomllib`
accepts is one statement, and its result has the keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""The keys from the top of the file down; an int is an index of an array."""

_MAY_BEGIN = re.compile(r"""\s*(?:\[|\#|$|[\w"'-][^=]*=)""")
"""A line with which a statement may begin, or a line between two statements."""

MOST_LINES = 5000
"""A longer text is not searched: no configuration written by hand is so long."""


def line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """The line of a key, else of the nearest table around it that has one; None for neither."""
    return next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), None)


def lines_of_keys(text: str) -> dict[KeyPath, int]:
    """The line, counted from 1, on which each key or table of a valid TOML text begins.

    A table without a header begins where its first key or table does.
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
            table = _header(statement, lengths)
            found[table] = line
            for n in range(1, len(table)):
                implied.setdefault(table[:n], line)
            continue
        for path in _paths(statement):
            found.setdefault((*table, *path), line)
    return {**implied, **found}


def _statements(text: str) -> Iterator[tuple[int, tuple[dict[str, Any], bool] | None]]:
    """Each statement with its first line: the parsed tables, and whether it is a table's header."""
    # Not `splitlines`, which also splits at characters that do not end a line in TOML.
    lines = text.replace("\r\n", "\n").split("\n")
    start = 0
    while start < min(len(lines), MOST_LINES):
        for end in range(start + 1, len(lines) + 1):
            # Without this, a long array would be parsed once for each of its lines.
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


def _header(parsed: Mapping[str, Any], lengths: dict[KeyPath, int]) -> KeyPath:
    """The table that a header opens; `[[x]]` opens the next one of an array, `[x.y]` belongs to its last."""
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
    """Every key below, in dotted keys, inline tables and arrays."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (key,)
        for path in _paths(inner):
            yield (key, *path)
