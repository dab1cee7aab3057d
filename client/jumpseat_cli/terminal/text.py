"""Removes control sequences from external text.

External text, such as answers, error messages and names in tables, is filtered before it is printed. Only
printable characters, line feeds and tabs remain.
"""

from __future__ import annotations

import re
import sys
from enum import Enum, auto

SWALLOW_LIMIT = 256
"""Maximum number of characters dropped with an unfinished sequence; text resumes after them."""

# This matches DEL, C1 controls, C0 controls except tab and line feed, and the bidirectional overrides and
# isolates, which can disguise text. Right-to-left scripts display correctly without overrides and isolates.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_SEQUENCE_8BIT = "\x9b"
_STRINGS_7BIT = "]PX^_"  # OSC, DCS, SOS, PM, APC after an escape
_STRINGS_8BIT = "\x9d\x90\x98\x9e\x9f"
_BELL, _ESCAPE, _STRING_END = "\x07", "\x1b", "\x9c"


class _State(Enum):
    """The part of the text or of a control sequence that the next character continues."""

    TEXT = auto()
    ESCAPE = auto()
    INTERMEDIATE = auto()
    SEQUENCE = auto()
    STRING = auto()


class ControlSequenceFilter:
    """A filter that strips control sequences from text in pieces, wherever the text is split."""

    def __init__(self) -> None:
        self._state = _State.TEXT
        self._swallowed = 0

    def feed(self, text: str) -> str:
        """Return the text of the next piece; a control sequence may continue in the piece after it."""
        kept: list[str] = []
        at = 0
        while at < len(text):
            if self._state is _State.TEXT:
                found = _CONTROL.search(text, at)
                end = len(text) if found is None else found.start()
                kept.append(text[at:end])
                if found is not None:
                    self._begin_sequence(text[end])
                    end += 1
                at = end
            elif self._skip(text[at]):
                at += 1
        return "".join(kept)

    def _begin_sequence(self, character: str) -> None:
        """Drop a control character, and enter the state for the sequence that it introduces."""
        self._swallowed = 0
        if character == _ESCAPE:
            self._state = _State.ESCAPE
        elif character == _SEQUENCE_8BIT:
            self._state = _State.SEQUENCE
        elif character in _STRINGS_8BIT:
            self._state = _State.STRING

    def _skip(self, character: str) -> bool:
        """Drop a character of a sequence; return False if the character is text instead."""
        self._swallowed += 1
        if character == "\n" or self._swallowed > SWALLOW_LIMIT:
            self._state = _State.TEXT
            return False
        if character == _ESCAPE:
            # This starts a new sequence or a string terminator, which are handled alike. Do not reset the
            # count, so that a chain of introducers cannot drop more than the limit.
            self._state = _State.ESCAPE
            return True
        if self._state is _State.STRING:
            if character in (_BELL, _STRING_END):
                self._state = _State.TEXT
            return True
        return self._skip_in_sequence(character)

    def _skip_in_sequence(self, character: str) -> bool:
        if self._state is _State.ESCAPE and character == "[":
            self._state = _State.SEQUENCE
        elif self._state is _State.ESCAPE and character in _STRINGS_7BIT:
            self._state = _State.STRING
        elif " " <= character <= "/":
            if self._state is _State.ESCAPE:
                self._state = _State.INTERMEDIATE
        elif self._state is _State.SEQUENCE and "0" <= character <= "?":
            pass
        else:
            self._state = _State.TEXT
            # A final byte belongs to the sequence; any other character does not.
            return "0" <= character <= "~"
        return True


def clean(text: str) -> str:
    """Remove control sequences from a whole text."""
    return ControlSequenceFilter().feed(text)


def clean_line(text: str) -> str:
    """Like `clean`, but also replace each run of white space with one space, for tables and messages."""
    return " ".join(clean(text).split())


def can_print(characters: str) -> bool:
    """Whether stdout's encoding has these characters."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
