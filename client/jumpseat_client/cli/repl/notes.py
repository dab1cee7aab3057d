"""Lines about the conversation, dimmed on stderr, so that answers stand out."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap

from jumpseat_client.cli.failures import say
from jumpseat_client.cli.repl.conversation import Totals
from jumpseat_client.cli.terminal import clean
from jumpseat_client.cli.usage import money_of, time_of, tokens_of

_DIM, _NORMAL = "\x1b[2m", "\x1b[0m"


def note(text: str) -> None:
    """Print lines about the conversation."""
    text = "\n".join(wrapped(line) for line in text.split("\n"))
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        print(f"{_DIM}{clean(text)}{_NORMAL}", file=sys.stderr, flush=True)
    else:
        say(text)


def wrapped(line: str, indent: str = "") -> str:
    """A line cut at words for the width of the terminal; ids and paths are never cut.

    Args:
        line: without line feeds.
        indent: before each line after the first.
    """
    width = shutil.get_terminal_size().columns
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def totals_text(totals: Totals) -> str:
    """The sums of the conversation."""
    turns = f"{totals.turns} turn{'' if totals.turns == 1 else 's'}"
    costs = [money_of(amount, currency) for currency, amount in totals.cost.items()]
    return " · ".join([turns, *tokens_of(totals.tokens), time_of(totals.seconds), *costs])
