"""Prints rows as a table that fits the terminal, or as tab-separated lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jumpseat_cli.terminal.text import clean_line
from jumpseat_cli.terminal.wrapping import columns

FIXED = (
    "Model",
    "Context",
    "Output",
    "Cost",
    "Id",
    "Changed",
    "Turns",
    "Tool",
    "Decision",
    "Tokens",
    "Server",
    "State",
    "Origin",
)
"""The titles of columns whose cells are not wrapped.

If a row is printed as a paragraph, each of these cells follows its title.
"""

LAST_COLUMN = 20
"""The minimum width of the last column. With less room, rows become paragraphs if the caller allows it."""


def print_rows(titles: Sequence[str], rows: Sequence[Sequence[str]], *, stacks: bool = False) -> None:
    """Print a table on a terminal, or tab-separated lines in a pipe.

    Args:
        titles: the column titles.
        rows: the cells of each row.
        stacks: whether to print each row as a paragraph, starting with its first cell, if the terminal is too
            narrow for the table.
    """
    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cleaned:
            print("\t".join(row))
    elif stacks and _measure_width(cleaned) + LAST_COLUMN > columns():
        _print_paragraphs(titles, cleaned)
    else:
        _print_table(titles, cleaned)


def _measure_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the width, in characters, of a table without its last column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return sum(width + 3 for width in widths[:-1] if width)


def _print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, title in enumerate(titles):
        if any(row[number] for row in rows):
            table.add_column(title, overflow="fold", no_wrap=title in FIXED)
    used = [number for number in range(len(titles)) if any(row[number] for row in rows)]
    for row in rows:
        # Use a Text, because rich would interpret brackets in a string as markup.
        table.add_row(*(Text(row[number]) for number in used))
    Console(file=sys.stdout).print(table)


def _print_paragraphs(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(file=sys.stdout)
    for first, *others in rows:
        console.print(Text(first, style="bold", overflow="fold"))
        parts = [
            f"{title.lower()} {cell}" if title in FIXED else cell
            for title, cell in zip(titles[1:], others, strict=True)
            if cell
        ]
        if parts:
            console.print(Padding(Text("; ".join(parts)), (0, 0, 0, 2)))
