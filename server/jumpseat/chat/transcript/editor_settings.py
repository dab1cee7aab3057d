"""Escapes text that Vim and Emacs would interpret as settings for the file.

Vim reads modelines (`:help modeline`), and Emacs reads lists of local variables ("File Variables" in its
manual). Each begins with a word that ends in a colon. Escaping adds one backslash before that colon, even if
there already are backslashes, so that unescaping restores the text exactly. Markdown shows `\\:` as a colon.
"""

from __future__ import annotations

import re

_VARIABLES = "local variables"
_BEGUN_VARIABLES = "|".join(_VARIABLES[:length] for length in range(len(_VARIABLES), 0, -1))
# Vim finds a modeline at the start of a line or after this white space. A version with any number of digits
# may follow `vim`. Emacs finds "Local Variables" anywhere in a line, in upper and lower case.
_AFTER_SPACE = r"(?<![^\t-\r ])"
_NUMBERED = r"[vV]im[<=>]?[0-9]*"
_WORD = rf"(?:{_AFTER_SPACE}(?:vi|{_NUMBERED}|ex)|(?i:{_VARIABLES}))"
_COLON = re.compile(rf"({_WORD}\\*):", re.ASCII)
_ESCAPED_COLON = re.compile(rf"({_WORD}\\*)\\:", re.ASCII)

BEGUN_WORD = re.compile(
    rf"(?:{_AFTER_SPACE}(?:(?P<number>{_NUMBERED})|[vV]i?|ex?)|(?i:{_BEGUN_VARIABLES}))\\*\Z", re.ASCII
)
"""Matches the end of an unfinished text if the following text may complete a word that begins settings."""


def has_settings(line: str) -> bool:
    """Whether an editor would find settings in this line."""
    return ":" in line and _COLON.search(line) is not None


def escape_settings(line: str, colon: str = r"\:") -> str:
    """Replace the colon after each word that begins settings. `colon` is the replacement."""
    # Pass a function: `sub` would interpret backslashes in a replacement string.
    return _COLON.sub(lambda found: found[1] + colon, line) if ":" in line else line


def unescape_settings(line: str) -> str:
    """Restore the line that `escape_settings` escaped."""
    return _ESCAPED_COLON.sub(r"\1:", line) if r"\:" in line else line
