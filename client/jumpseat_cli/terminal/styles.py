"""Styled lines: notes, and the lines of diffs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from jumpseat_cli.terminal.failures import say
from jumpseat_cli.terminal.text import clean
from jumpseat_cli.terminal.wrapping import wrap

_DIM, _NORMAL = "\x1b[2m", "\x1b[0m"
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan", "\\": "bright_black"}


def note(text: str) -> None:
    """Print a note on stderr, dimmed so that the answers stand out. The text may have several lines."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        text = "\n".join(map(wrap, text.split("\n")))
        print(f"{_DIM}{clean(text)}{_NORMAL}", file=sys.stderr, flush=True)
    else:
        say(text)


def print_styled(text: str, *, err: bool, **style: object) -> None:
    """Print a line, styled only if the stream is a terminal and colours are wanted.

    Args:
        text: the line, whose control sequences are removed.
        err: whether to print it on stderr.
        style: keyword arguments for `click.style`.
    """
    is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    styled = click.style(clean(text), **style)  # type: ignore[arg-type]  # click lists each option
    click.echo(styled, err=err, color=False if is_plain else None)


def print_diff(lines: Iterable[str], *, err: bool = False) -> None:
    """Print the lines of a unified diff in colour, with control and bidirectional characters escaped."""
    from jumpseat.tools.display import escape  # Deferred: few commands print a diff.

    for line in lines:
        print_styled(escape(line, lines=True), err=err, fg=_DIFF_COLOURS.get(line[:1]))
