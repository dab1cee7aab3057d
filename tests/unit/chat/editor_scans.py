"""Find the settings that Vim and Emacs read from a file, and Org's structure, according to their manuals."""

from __future__ import annotations

from collections.abc import Iterator

VIM_WHITE = " \t\n\v\f\r"


def settings_in(text: str) -> list[str]:
    """Return the lines in which an editor would find settings."""
    return [line for line in text.split("\n") if _has_modeline(line) or "local variables:" in _lower(line)]


def org_structure_in(text: str) -> list[str]:
    """Return the lines that Org would read as a headline, a keyword, or the start or end of a block."""
    return [line for line in text.split("\n") if _is_headline(line) or _has_keyword(line)]


def _is_headline(line: str) -> bool:
    return line.startswith("*") and line.lstrip("*").startswith(" ")


def _has_keyword(line: str) -> bool:
    return line.lstrip(" \t").startswith("#+")


def _lower(text: str) -> str:
    # Emacs ignores the case of ASCII letters, but does not take any other character for one of them.
    return "".join(each.lower() if each.isascii() else each for each in text)


def _has_modeline(line: str) -> bool:
    return any(_is_modeline(word, is_first) for word, is_first in _after_white(line))


def _after_white(line: str) -> Iterator[tuple[str, bool]]:
    """Yield the line, and its rest after each white space, each with whether it is the whole line."""
    for start in range(len(line)):
        if start == 0 or line[start - 1] in VIM_WHITE:
            yield line[start:], start == 0


def _is_modeline(text: str, is_first: bool) -> bool:
    if text.startswith("vi:") or (text.startswith("ex:") and not is_first):
        return True
    if not text.startswith(("vim", "Vim")):
        return False
    version = text[4:] if text[3:4] in ("<", "=", ">") else text[3:]
    after = version.lstrip("0123456789")
    return after.startswith(":") and (text[0] == "v" or after[1:].lstrip(" \t").startswith("set"))
