"""Completion in bash and fish, where click's own loses a part of what is typed or offered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, FishComplete, add_completion_class

_BREAKS = frozenset(":=")
"""bash gives `local:name` and `key=value` as three words each, one of them this character."""


class Bash(BashComplete):
    """Completes words that bash has split, such as the names of models."""

    _split_off = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The complete arguments, and the last one as far as it is typed; split ones are joined again."""
        arguments, typed = super().get_completion_args()
        if not typed:
            return joined(arguments), ""
        *before, whole = joined([*arguments, typed])
        if whole != typed:
            # bash replaces only the last part.
            self._split_off = whole if _is_break(typed) else whole.removesuffix(typed)
            if whole.startswith("-"):
                self._split_off = self._split_off.partition("=")[2]
        return before, whole

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """A line for bash: the part of the value that replaces what it takes for the word."""
        return f"{item.type},{item.value.removeprefix(self._split_off)}"


class Fish(FishComplete):
    """Shows whole descriptions: click's function ends them at a comma."""

    source_template = FishComplete.source_template.replace(
        'string split "," $completion', 'string split --max 1 "," $completion'
    )


def joined(words: Iterable[str]) -> list[str]:
    """The words as they were typed: those before and after a colon or an equals sign are one."""
    whole: list[str] = []
    is_open = False
    for word in words:
        # An option is a word of its own: bash does not say whether there was a space before it.
        if whole and (_is_break(word) or (is_open and not word.startswith("-"))):
            whole[-1] += word
        else:
            whole.append(word)
        is_open = _is_break(word)
    return whole


def _is_break(word: str) -> bool:
    return word != "" and _BREAKS.issuperset(word)


def register() -> None:
    """Use these classes in place of click's."""
    add_completion_class(Bash)
    add_completion_class(Fish)
