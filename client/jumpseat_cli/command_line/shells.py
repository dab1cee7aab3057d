"""Completion for bash and fish.

click's own completion loses parts of the typed words in bash, and parts of the descriptions in fish.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, FishComplete, add_completion_class

_BREAKS = frozenset(":=")
"""The characters at which bash splits words: `local:name` and `key=value` arrive as three words each."""


class Bash(BashComplete):
    """Completion for bash that joins the words that bash has split, such as model names."""

    _split_off = ""
    """The start of the typed word that bash keeps as it is, so that completions must leave it out."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the finished arguments and the one being typed, with split words joined again."""
        arguments, typed = super().get_completion_args()
        if not typed:
            return join_words(arguments), ""
        *before, whole = join_words([*arguments, typed])
        if whole != typed:
            # bash replaces only the part after the last colon or equals sign.
            self._split_off = whole if _is_break(typed) else whole.removesuffix(typed)
            if whole.startswith("-"):
                # click completes `--option=value` with the value alone.
                self._split_off = self._split_off.partition("=")[2]
        return before, whole

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return a line for bash: the value without the part that bash has split off."""
        return f"{item.type},{item.value.removeprefix(self._split_off)}"


class Fish(FishComplete):
    """Completion for fish that shows whole descriptions; click would cut them at a comma."""

    source_template = FishComplete.source_template.replace(
        'string split "," $completion', 'string split --max 1 "," $completion'
    )


def join_words(words: Iterable[str]) -> list[str]:
    """Join the words around a colon or an equals sign, as they were typed."""
    whole: list[str] = []
    is_open = False
    for word in words:
        # Treat an option as a separate word: bash does not report whether there was a space before it.
        if whole and (_is_break(word) or (is_open and not word.startswith("-"))):
            whole[-1] += word
        else:
            whole.append(word)
        is_open = _is_break(word)
    return whole


def _is_break(word: str) -> bool:
    return word != "" and _BREAKS.issuperset(word)


def register() -> None:
    """Replace click's completion classes with these."""
    add_completion_class(Bash)
    add_completion_class(Fish)
