"""Reads text files, or parts of them, and writes them back in the same encoding."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpseat.system.replacing import check_writable, replace_file
from jumpseat_cli.files.diffs import diff_texts
from jumpseat_cli.files.lines import CannotUse, Range, cut_range, split_range

STDIN = "-"
MAX_BYTES = 16 * 1024 * 1024

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # UTF-32-LE must precede UTF-16-LE, because its mark begins with the mark of UTF-16-LE.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A file and the part of it to rewrite."""

    path: Path | None
    """The file's path; None for the standard input."""

    raw: bytes
    """The whole file as it was read."""

    mark: bytes
    """The file's byte order mark, or nothing."""

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
            # LSP counts characters in UTF-16 code units.
            end["character"] = len(self.text.rpartition("\n")[2].encode("utf-16-le", "replace")) // 2
        block: dict[str, Any] = {
            "text": self.text,
            "range": {"start": {"line": start, "character": 0}, "end": end},
        }
        return block if self.path is None else {**block, "uri": self.path.as_uri()}

    @property
    def is_empty_file(self) -> bool:
        """Whether the whole file is empty."""
        return not (self.before or self.text or self.after)

    def diff(self, replacement: str) -> Iterator[str]:
        """Yield the lines of a unified diff of the whole file, without line endings."""
        name = STDIN if self.path is None else str(self.path)
        old = f"{self.before}{self.text}{self.after}"
        return diff_texts(old, f"{self.before}{replacement}{self.after}", name, name)

    def write(self, replacement: str) -> None:
        """Replace the file's content, and keep its access rights and links.

        Raises:
            CannotUse: another program has changed the file since it was read, the file cannot be written, or
                its encoding lacks a character. Nothing is written in these cases.
        """
        assert self.path is not None  # noqa: S101 - the standard input is never written
        content = self.mark + self.encode(f"{self.before}{replacement}{self.after}")
        try:
            if self.path.read_bytes() != self.raw:
                raise CannotUse(
                    f"Another program changed {self.path} in the meantime, so it was not written."
                )
            replace_file(self.path, content)
        except OSError as error:
            raise CannotUse(f"{self.path} cannot be written: {error.strerror or error}.") from None

    def check_writable(self) -> None:
        """Check that the file can be written.

        Raises:
            CannotUse: the file cannot be written.
        """
        assert self.path is not None  # noqa: S101 - the standard input is never written
        try:
            check_writable(self.path)
        except OSError as error:
            raise CannotUse(f"{self.path} cannot be written: {error.strerror or error}.") from None

    def encode(self, text: str) -> bytes:
        """Encode a text in the file's encoding.

        Raises:
            CannotUse: the text contains a character that the encoding lacks.
        """
        try:
            # A model may send half of a surrogate pair, which UTF-8 cannot encode.
            return text.encode(self.encoding, "replace" if self.encoding.startswith("utf") else "strict")
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise CannotUse(
                f"The new text contains {character!r}, which {self.encoding} cannot encode."
            ) from None


def read_piece(argument: str, encoding: str | None) -> Piece:
    """Read `PATH`, `PATH:3`, `PATH:3-7`, `PATH:3-`, or `-` for the standard input.

    Args:
        argument: the argument as it was typed. If a file with this whole name exists, a range at the end is
            part of the name.
        encoding: the file's encoding; None to detect it from the byte order mark, or else use UTF-8.

    Raises:
        CannotUse: the file cannot be read, is not text, or does not have these lines.
    """
    if argument == STDIN:
        return _make_piece(None, sys.stdin.buffer.read(MAX_BYTES + 1), STDIN, encoding, None)
    name, lines = (argument, None) if Path(argument).exists() else split_range(argument)
    path = Path(name).absolute()
    try:
        if path.exists() and not path.is_file():
            raise CannotUse(f"{name} is not a file.")
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CannotUse(f"There is no file {name}.") from None
    except OSError as error:
        raise CannotUse(f"{name} cannot be read: {error.strerror or error}.") from None
    return _make_piece(path, raw, name, encoding, lines)


def _make_piece(path: Path | None, raw: bytes, name: str, encoding: str | None, lines: Range | None) -> Piece:
    if len(raw) > MAX_BYTES:
        raise CannotUse(f"{name} is larger than {MAX_BYTES >> 20} MiB.")
    mark, found = b"", encoding or "utf-8"
    if encoding is None:
        mark, found = next(((mark, each) for mark, each in _MARKS if raw.startswith(mark)), (b"", "utf-8"))
    try:
        text = raw.removeprefix(mark).decode(found)
    except UnicodeDecodeError:
        named = f"{found} text" if encoding else "UTF-8 text. If it has another encoding, add --encoding NAME"
        raise CannotUse(f"{name} is not {named}.") from None
    if lines is None:
        return Piece(path, raw, mark, found, "", text, "")
    before, part, after = map("".join, cut_range(text, lines, name))
    return Piece(path, raw, mark, found, before, part, after)
