"""Keeps what a model or a provider wrote from steering the terminal.

Text from outside passes here before it is printed, whatever it is: answers, error messages, names in
tables. Only printable characters, line ends and tabs come out.
"""

from __future__ import annotations

import re
from enum import Enum, auto

SWALLOW_LIMIT = 256
"""Characters that an unfinished sequence may take with it; the rest of the answer is text again."""

# Everything below space but tab and line feed, delete, the 8-bit controls, and the marks that make text
# of one direction look like another text; right-to-left letters need none of those to be shown right.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_SEQUENCE_8BIT = "\x9b"
_STRINGS_7BIT = "]PX^_"  # OSC, DCS, SOS, PM, APC after an escape
_STRINGS_8BIT = "\x9d\x90\x98\x9e\x9f"
_BELL, _ESCAPE, _STRING_END = "\x07", "\x1b", "\x9c"


class _State(Enum):
    TEXT = auto()
    ESCAPE = auto()
    INTERMEDIATE = auto()
    SEQUENCE = auto()
    STRING = auto()


class ControlSequenceFilter:
    """Strips control sequences from text that comes in pieces; any split gives the same."""

    def __init__(self) -> None:
        self._state = _State.TEXT
        self._swallowed = 0

    def feed(self, text: str) -> str:
        """Take the next piece and return what of it, or of a sequence that proved to be none, is text."""
        kept: list[str] = []
        at = 0
        while at < len(text):
            if self._state is _State.TEXT:
                found = _CONTROL.search(text, at)
                end = len(text) if found is None else found.start()
                kept.append(text[at:end])
                if found is not None:
                    self._control(text[end])
                    end += 1
                at = end
            elif self._take(text[at]):
                at += 1
        return "".join(kept)

    def _control(self, character: str) -> None:
        """A control character in the middle of text: drop it, and whatever it introduces."""
        self._swallowed = 0
        if character == _ESCAPE:
            self._state = _State.ESCAPE
        elif character == _SEQUENCE_8BIT:
            self._state = _State.SEQUENCE
        elif character in _STRINGS_8BIT:
            self._state = _State.STRING

    def _take(self, character: str) -> bool:
        """Swallow a character of a sequence; False if it is not one, and text again from here."""
        self._swallowed += 1
        if character == "\n" or self._swallowed > SWALLOW_LIMIT:
            self._state = _State.TEXT
            return False
        if character == _ESCAPE:
            # A new sequence, or the first half of a string's end: for both the rest is the same. What
            # was swallowed still counts, so that no chain of beginnings takes more than the limit.
            self._state = _State.ESCAPE
            return True
        if self._state is _State.STRING:
            if character in (_BELL, _STRING_END):
                self._state = _State.TEXT
            return True
        return self._take_sequence(character)

    def _take_sequence(self, character: str) -> bool:
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
            # A final byte ends the sequence and goes with it; anything else was never part of it.
            return "0" <= character <= "~"
        return True


def clean(text: str) -> str:
    """A whole text without control sequences."""
    return ControlSequenceFilter().feed(text)


def clean_line(text: str) -> str:
    """The same on one line, for tables and messages: every run of white space is one space."""
    return " ".join(clean(text).split())
