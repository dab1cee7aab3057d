"""A text file, a part of it to rewrite, and its encoding."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from jumpseat_cli.files.replacing import check_writable, range_of, replace_file

STDIN = "-"
LARGEST_BYTES = 16 * 1024 * 1024

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, whose mark is the beginning of this one.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINES = re.compile(
    r"(?P<path>.+):(?P<first>[0-9]{1,9})(?:(?P<dash>-)(?P<last>[0-9]{1,9})?)?", re.ASCII | re.DOTALL
)


class CannotEdit(Exception):  # noqa: N818 - it is printed, not handled
    """The file cannot be edited as requested; the message says why."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, and the part of it to rewrite."""

    path: Path | None
    """None for the standard input."""

    raw: bytes
    """The whole file as it was read."""

    mark: bytes
    """The byte order mark at its beginning, or nothing."""

    encoding: str
    before: str
    text: str
    after: str

    @property
    def target(self) -> dict[str, Any]:
        """The context block for the daemon."""
        start = self.before.count("\n")
        end = {"line": start + self.text.count("\n"), "character": 0}
        if not self.text.endswith("\n"):
            # LSP counts UTF-16 code units.
            end["character"] = len(self.text.rpartition("\n")[2].encode("utf-16-le", "replace")) // 2
        block: dict[str, Any] = {
            "text": self.text,
            "range": {"start": {"line": start, "character": 0}, "end": end},
        }
        return block if self.path is None else {**block, "uri": self.path.as_uri()}

    @property
    def is_empty_file(self) -> bool:
        """Whether there is no text in the whole file."""
        return not (self.before or self.text or self.after)

    def diff(self, replacement: str) -> Iterator[str]:
        """The change of the whole file as a unified diff, line by line and without line ends."""
        name = STDIN if self.path is None else str(self.path)
        old = _lines(f"{self.before}{self.text}{self.after}")
        new = _lines(f"{self.before}{replacement}{self.after}")
        for line in unified_diff(old, new, name, name, lineterm="\n"):
            yield line.rstrip("\r\n")
            if not line.endswith("\n"):
                yield "\\ No newline at end of file"

    def write(self, replacement: str) -> None:
        """Replace the file's content, unless it changed since it was read; its rights and links stay.

        Raises:
            CannotEdit: it changed, or cannot be written; it is unchanged.
        """
        assert self.path is not None  # noqa: S101 - the standard input is never written
        content = self.mark + self.encoded(f"{self.before}{replacement}{self.after}")
        try:
            if self.path.read_bytes() != self.raw:
                raise CannotEdit(f"{self.path} was changed in the meantime; it is left as it is.")
            replace_file(self.path, content)
        except OSError as error:
            raise CannotEdit(f"{self.path} cannot be written: {error.strerror or error}.") from None

    def check_writable(self) -> None:
        """Check that the file can be written.

        Raises:
            CannotEdit: it cannot.
        """
        assert self.path is not None  # noqa: S101 - the standard input is never written
        try:
            check_writable(self.path)
        except OSError as error:
            raise CannotEdit(f"{self.path} cannot be written: {error.strerror or error}.") from None

    def encoded(self, text: str) -> bytes:
        """A text in the file's encoding.

        Raises:
            CannotEdit: it has a character that the encoding lacks.
        """
        try:
            # Half of a surrogate pair, from a model, has no UTF-8.
            return text.encode(self.encoding, "replace" if self.encoding.startswith("utf") else "strict")
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise CannotEdit(f"The new text has {character!r}, which {self.encoding} lacks.") from None


def read_piece(argument: str, encoding: str | None) -> Piece:
    """Read `PATH`, `PATH:3`, `PATH:3-7`, `PATH:3-`, or `-` for the standard input.

    Args:
        argument: as typed; a file that exists is meant even if its name ends with a range.
        encoding: of the file; None for its byte order mark, else UTF-8.

    Raises:
        CannotEdit: it cannot be read, is not text, or has no such lines.
    """
    if argument == STDIN:
        return _piece(None, sys.stdin.buffer.read(LARGEST_BYTES + 1), STDIN, encoding, None)
    match = None if Path(argument).exists() else _LINES.fullmatch(argument)
    name = argument if match is None else match["path"]
    path = Path(name).absolute()
    try:
        if path.exists() and not path.is_file():
            raise CannotEdit(f"{name} is not a file.")
        with path.open("rb") as stream:
            raw = stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise CannotEdit(f"{name} cannot be read: {error.strerror or error}.") from None
    if match is None:
        return _piece(path, raw, name, encoding, None)
    first, last = int(match["first"]), match["last"]
    end = int(last) if last else None if match["dash"] else first
    return _piece(path, raw, name, encoding, (first, end))


def _piece(
    path: Path | None, raw: bytes, name: str, encoding: str | None, lines: tuple[int, int | None] | None
) -> Piece:
    if len(raw) > LARGEST_BYTES:
        raise CannotEdit(f"{name} is larger than {LARGEST_BYTES >> 20} MiB.")
    mark, found = b"", encoding or "utf-8"
    if encoding is None:
        mark, found = next(((mark, each) for mark, each in _MARKS if raw.startswith(mark)), (b"", "utf-8"))
    try:
        text = raw.removeprefix(mark).decode(found)
    except UnicodeDecodeError:
        named = f"{found} text" if encoding else "UTF-8 text; --encoding names another encoding"
        raise CannotEdit(f"{name} is not {named}.") from None
    if lines is None:
        return Piece(path, raw, mark, found, "", text, "")
    rows = _lines(text)
    try:
        first, last = range_of(name, lines, len(rows))
    except ValueError as error:
        raise CannotEdit(str(error)) from None
    parts = (rows[: first - 1], rows[first - 1 : last], rows[last:])
    before, text, after = ("".join(part) for part in parts)
    return Piece(path, raw, mark, found, before, text, after)


def _lines(text: str) -> list[str]:
    # Not `splitlines`, which also splits at form feeds and other characters.
    rows = re.split(r"(?<=\n)", text)
    return rows if rows[-1] else rows[:-1]
