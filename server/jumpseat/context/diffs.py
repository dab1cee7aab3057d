"""Shortens Git's diffs that are too long for a model, by whole files if possible."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_NAMES = 20
"""The maximum number of file names in a note or a warning."""

_FILE = re.compile(r"^(?=diff --(?:git|cc|combined) )", re.MULTILINE)
_HEADER = re.compile(r"diff --(git|cc|combined) (.+)")
_NEW_NAME = re.compile(r"^(?:rename|copy) to (.+)$", re.MULTILINE)
_PREFIX = re.compile(r"[a-z]/")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = dict(zip(b"abtnvfr", b"\a\b\t\n\v\f\r", strict=True))
"""The bytes that Git escapes with a letter, by that letter."""


@dataclass(frozen=True, slots=True)
class ShortenedDiffs:
    """Texts with Git's diffs, after long files were left out or cut off."""

    texts: Sequence[str]
    """The given texts, in the same order. A text is empty if everything in it is left out."""

    left_out: Sequence[str] = ()
    """The names of the files that the diffs no longer contain."""

    cut_off: str | None = None
    """The name of the file of which only the beginning remains."""

    @property
    def note(self) -> str:
        """The note that tells the model what the diffs lack; empty if they are complete."""
        lines = []
        if self.cut_off is not None:
            lines.append(f"The diff of {self.cut_off} is too long, so it is cut off.")
        if self.left_out:
            names = _join_names(self.left_out)
            lines.append(f"These files have changed too, but their diffs are too long: {names}")
        return "\n".join(lines)

    @property
    def warning(self) -> str:
        """The warning that tells the user what the model does not see; empty if it sees everything."""
        names = _join_names(self.left_out)
        if self.cut_off is None:
            start = "The diff is too long for the model. These files are left out:"
            return f"{start} {names}" if names else ""
        if not names:
            return f"The diff of {self.cut_off} is too long for the model. Only its beginning is used."
        return (
            f"The diff is too long for the model. Only the beginning of {self.cut_off} is used, and these "
            f"files are left out: {names}"
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a text: the diff of one file, or other text."""

    owner: int
    """The index of the given text that contains the part."""

    text: str
    is_file: bool

    @property
    def size(self) -> int:
        return len(_encode(self.text))


def shorten_diffs(texts: Sequence[str], max_bytes: int) -> ShortenedDiffs:
    """Leave out the longest files of Git's diffs until all texts together have at most `max_bytes` bytes.

    If no file fits, the beginning of the shortest one remains, in whole lines. Text before the first file is
    never shortened.
    """
    parts = [
        _Part(owner, text, _HEADER.match(text) is not None)
        for owner, whole in enumerate(texts)
        for text in _FILE.split(whole)
    ]
    room = max_bytes - sum(part.size for part in parts if not part.is_file)
    files = [index for index, part in enumerate(parts) if part.is_file]
    by_size = sorted(files, key=lambda index: parts[index].size)
    kept = {index: part.text for index, part in enumerate(parts) if not part.is_file}
    cut_off = None
    for index in by_size:
        part = parts[index]
        if part.size <= room:
            kept[index] = part.text
            room -= part.size
            continue
        if index == by_size[0] and (beginning := _cut_at_line(part.text, room)):
            kept[index], cut_off = beginning, _find_name(part.text)
        break
    shortened = [
        "".join(kept.get(index, "") for index, part in enumerate(parts) if part.owner == owner)
        for owner in range(len(texts))
    ]
    left_out = [_find_name(parts[index].text) for index in files if index not in kept]
    return ShortenedDiffs(shortened, left_out, cut_off)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")


def _cut_at_line(text: str, max_bytes: int) -> str:
    """Return the whole lines at the beginning of a text that together have at most `max_bytes` bytes."""
    beginning = _encode(text)[: max(max_bytes, 0)]
    return beginning[: beginning.rfind(b"\n") + 1].decode("utf-8")


def _find_name(text: str) -> str:
    """Return the name of a file from its diff: the new name if the file was renamed or copied."""
    header = _HEADER.match(text)
    kind, names = header.groups() if header is not None else ("", "")
    if (renamed := _NEW_NAME.search(text)) is not None:
        return _unquote(renamed[1])
    if kind != "git":
        return _unquote(names)
    # Both names have the same length, because the file was not renamed. With `diff.noprefix` they are equal.
    middle = len(names) // 2
    before, after = names[:middle], names[middle + 1 :]
    name = _unquote(after)
    return name[2:] if before != after and _PREFIX.match(name) else name


def _unquote(name: str) -> str:
    """Decode a name that Git quoted like a string in C, with unusual bytes as octal escapes."""
    if not name.startswith('"'):
        return name
    return _ESCAPE.sub(_unescape, _encode(name[1:-1])).decode("utf-8", "replace")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF if len(code) == 3 else _ESCAPES.get(code[0], code[0])])
