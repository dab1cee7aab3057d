"""Notes about the conversation, dimmed on stderr so that the answers stand out."""

from __future__ import annotations

import os
import sys

from jumpseat_cli.chat.usage import format_duration, format_money, format_tokens
from jumpseat_cli.repl.conversation import Totals
from jumpseat_cli.terminal.failures import say
from jumpseat_cli.terminal.text import clean
from jumpseat_cli.terminal.wrapping import wrap

_DIM, _NORMAL = "\x1b[2m", "\x1b[0m"


def note(text: str) -> None:
    """Print a note about the conversation, which may have several lines."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        text = "\n".join(map(wrap, text.split("\n")))
        print(f"{_DIM}{clean(text)}{_NORMAL}", file=sys.stderr, flush=True)
    else:
        say(text)


def format_totals(totals: Totals) -> str:
    """Return the conversation's total usage on one line."""
    turns = f"{totals.turns} turn{'' if totals.turns == 1 else 's'}"
    costs = [format_money(amount, currency) for currency, amount in totals.cost.items()]
    return " · ".join([turns, *format_tokens(totals.tokens), format_duration(totals.seconds), *costs])


def note_kept(conversation_id: str) -> None:
    """Print how to continue the conversation later."""
    note(f"Kept. To continue it: jumpseat chat --conversation {conversation_id}")
