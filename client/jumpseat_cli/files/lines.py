"""Ranges of lines in files, written as `PATH:3`, `PATH:3-7` or `PATH:3-`."""

from __future__ import annotations

import re

import click

_NAMED = re.compile(
    r"(?P<path>.+):(?P<first>[0-9]{1,9})(?:(?P<dash>-)(?P<last>[0-9]{1,9})?)?", re.ASCII | re.DOTALL
)

Range = tuple[int, int | None]
"""The first and the last line, counted from 1; if the last one is None, the range ends with the file."""


class CannotUse(click.ClickException):
    """A file, an image or stdin cannot be used; the message explains why."""


def split_range(argument: str) -> tuple[str, Range | None]:
    """Split an argument into the path and the range of lines, if there is one."""
    match = _NAMED.fullmatch(argument)
    if match is None:
        return argument, None
    first, last = int(match["first"]), match["last"]
    return match["path"], (first, int(last) if last else None if match["dash"] else first)


def cut_range(text: str, lines: Range, name: object) -> tuple[list[str], list[str], list[str]]:
    """Cut a text into the lines before a range, in it and after it.

    Raises:
        CannotUse: the text does not have these lines; the message contains the name.
    """
    rows = rows_of(text)
    count = len(rows)
    first, last = lines[0], count if lines[1] is None else lines[1]
    if not 1 <= first <= last <= count:
        missing = f"line {first} does" if first == last else f"lines {first}-{lines[1] or ''} do"
        raise CannotUse(f"{name} has {count} line{'' if count == 1 else 's'}; {missing} not exist.")
    return rows[: first - 1], rows[first - 1 : last], rows[last:]


def rows_of(text: str) -> list[str]:
    """Split a text into lines with their line endings."""
    # `splitlines` would also split at form feeds and other characters.
    rows = re.split(r"(?<=\n)", text)
    return rows if rows[-1] else rows[:-1]
