"""Wraps lines at words to fit the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap

from jumpseat_cli.terminal.text import clean


def columns() -> int:
    """Return the width of the terminal; 80 if there is none."""
    if "COLUMNS" not in os.environ and not sys.stdout.isatty() and sys.stderr.isatty():
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return shutil.get_terminal_size().columns


def wrap(line: str, indent: str = "") -> str:
    """Wrap a line at words to fit the terminal; ids and paths are never split.

    Args:
        line: a line without line feeds; its indent applies to the continuation lines too.
        indent: additional indent for the continuation lines.
    """
    indent = line[: len(line) - len(line.lstrip(" "))] + indent
    return textwrap.fill(
        line, columns(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def cut_line(line: str, width: int) -> str:
    """Shorten a line to this number of terminal columns, with an ellipsis at its end."""
    if line.isascii():
        return line if len(line) <= width else f"{line[: width - 1]}…"
    from rich.cells import cell_len, set_cell_size  # Deferred: rich is slow to import.

    return line if cell_len(line) <= width else f"{set_cell_size(line, width - 1).rstrip()}…"


def print_line(text: str) -> None:
    """Print a line on stdout; wrap it at words on a terminal."""
    text = clean(text)
    print(wrap(text, "  ") if sys.stdout.isatty() else text)
