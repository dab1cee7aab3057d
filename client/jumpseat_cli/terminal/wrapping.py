"""Lines cut at words, for the width of the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap

from jumpseat_cli.terminal.text import clean


def columns() -> int:
    """The width of the terminal; 80 if there is none."""
    if "COLUMNS" not in os.environ and not sys.stdout.isatty() and sys.stderr.isatty():
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return shutil.get_terminal_size().columns


def wrapped(line: str, indent: str = "") -> str:
    """A line cut at words for the width of the terminal; ids and paths are never cut.

    Args:
        line: without line feeds; its own indent is that of its other lines too.
        indent: in addition, before each line after the first.
    """
    indent = line[: len(line) - len(line.lstrip(" "))] + indent
    return textwrap.fill(
        line, columns(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def print_line(text: str) -> None:
    """Print a line of our own on stdout, cut between words on a terminal."""
    text = clean(text)
    print(wrapped(text, "  ") if sys.stdout.isatty() else text)
