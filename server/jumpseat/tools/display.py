"""Formats a call for the user who approves it. Escapes characters that could hide or reorder text."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Mapping
from typing import Any

from jumpseat.wire import write_json

MAX_TITLE = 200
MAX_TEXT = 2000
"""The maximum number of characters to show of each text in a call's arguments."""

MAX_ARGUMENTS = 20_000
"""The maximum number of characters to show of all texts in a call's arguments together.

Beyond this limit, each text still shows up to 40 characters.
"""

MAX_ITEMS = 200
"""The maximum number of items to show of each array or object."""

DEEPEST = 20
"""The maximum depth of nested arrays and objects to show."""

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""The Unicode categories of control, format and other characters that could hide or reorder text."""


def escape(text: str, *, lines: bool = False) -> str:
    """Replace each control, bidirectional or invisible character with its escape, as in `\\u202e`.

    Args:
        lines: whether to preserve line feeds and tabs.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if unicodedata.category(character) not in _INVISIBLE or (lines and character in "\n\t")
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def make_title(text: str) -> str:
    """Return the text as one escaped line of at most `MAX_TITLE` characters."""
    # Cut twice: escaping megabytes of text would take long, and escapes lengthen the text.
    line = escape(_cut_middle(text, MAX_TITLE))
    return _cut_middle(line, MAX_TITLE)


def summarize_call(server: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the names of the server and the tool, and the shortened arguments, as one text."""
    shown = write_json(show_arguments(arguments)).decode() if arguments else ""
    return f"{server}/{tool} {shown}".rstrip()


def show_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for display. Texts are escaped; long texts are cut and show their length."""
    shown: dict[str, Any] = _Shortener().show(arguments, 0)
    return shown


class _Shortener:
    def __init__(self) -> None:
        self._left = MAX_ARGUMENTS

    def show(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._show_text(value)
        if isinstance(value, Mapping | list) and value and (depth >= DEEPEST or self._left <= 0):
            return f"… ({len(value)} items)"
        if isinstance(value, Mapping):
            items = list(value.items())
            shown: dict[str, Any] = {}
            for key, item in items[:MAX_ITEMS]:
                name = _make_unique(self._show_text(str(key)), shown)
                shown[name] = self.show(item, depth + 1)
            if len(items) > MAX_ITEMS:
                shown[_make_unique("…", shown)] = f"{len(items) - MAX_ITEMS} more"
            return shown
        if isinstance(value, list):
            entries = [self.show(item, depth + 1) for item in value[:MAX_ITEMS]]
            return [*entries, f"… {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else entries
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
            return self._show_text(str(value))
        return value

    def _show_text(self, text: str) -> str:
        longest = max(min(MAX_TEXT, self._left), 40)
        shown = escape(_cut_middle(text, longest, with_length=True), lines=True)
        self._left -= len(shown)
        return shown


def _make_unique(name: str, taken: Container[str]) -> str:
    """Return the name, with a number if it is taken. Escaping and cutting can make different keys equal."""
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name} ({number})"
    return unique


def _cut_middle(text: str, longest: int, *, with_length: bool = False) -> str:
    """Shorten a text to about this many characters by leaving out its middle."""
    if len(text) <= longest:
        return text
    mark = f" … ({len(text)} characters) … " if with_length else " … "
    head = (longest - len(mark)) * 2 // 3
    return f"{text[:head]}{mark}{text[-(longest - len(mark) - head) :]}"
