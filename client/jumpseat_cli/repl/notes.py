"""Notes about the conversation as a whole."""

from __future__ import annotations

from jumpseat_cli.chat.usage import format_duration, format_money, format_tokens
from jumpseat_cli.repl.conversation import Totals
from jumpseat_cli.terminal.styles import note


def format_totals(totals: Totals) -> str:
    """Return the conversation's total usage on one line."""
    turns = f"{totals.turns} turn{'' if totals.turns == 1 else 's'}"
    costs = [format_money(amount, currency) for currency, amount in totals.cost.items()]
    return " · ".join([turns, *format_tokens(totals.tokens), format_duration(totals.seconds), *costs])


def note_kept(conversation_id: str) -> None:
    """Print how to continue the conversation later."""
    note(f"Kept. To continue it: jumpseat chat --conversation {conversation_id}")
