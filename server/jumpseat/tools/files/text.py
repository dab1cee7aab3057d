"""The texts of files: encodings, byte order marks and line endings."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_TEXT = 10 * 1024 * 1024
"""The size in bytes of the largest file that is changed or searched.

Operations on texts hold the GIL. For a text of this size, none of them takes more than about 20 ms.
"""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
MAX_MARK = 3
"""The length in bytes of the longest byte order mark."""

LINE_ENDING = re.compile(r"\r\n|\r|\n")
"""The line endings of LSP. `str.splitlines` also splits at others, such as form feeds."""


class NotTextError(Exception):
    """The bytes are neither UTF-8 nor UTF-16 with a byte order mark, or their text has null characters."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How a file stores its text."""

    mark: bytes = b""
    """The byte order mark, or nothing."""

    encoding: str = "utf-8"

    @classmethod
    def detect(cls, start: bytes) -> TextForm:
        """Return the form of a file by its first `MAX_MARK` bytes."""
        return next((cls(mark, encoding) for mark, encoding in _MARKS if start.startswith(mark)), cls())

    def encode(self, text: str) -> bytes:
        """Return the bytes of a file with this text.

        Raises:
            UnicodeEncodeError: the text contains half of a surrogate pair.
        """
        return self.mark + text.encode(self.encoding)

    def decode(self, chunks: Iterable[bytes]) -> Iterator[str]:
        """Yield the text of a file in pieces.

        Args:
            chunks: the bytes of the file, including the mark, which is in the first chunk.

        Raises:
            NotTextError: the bytes are not text, or contain null characters, as most binary files do.
        """
        decoder = codecs.getincrementaldecoder(self.encoding)()
        skipped = len(self.mark)
        try:
            for chunk in chunks:
                yield _reject_nulls(decoder.decode(chunk[skipped:]))
                skipped = 0
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise NotTextError from None


UTF_8 = TextForm()


def decode(content: bytes) -> tuple[str, TextForm]:
    """Return the text of a whole file and its form.

    Raises:
        NotTextError: see `TextForm.decode`.
    """
    form = TextForm.detect(content[:MAX_MARK])
    return "".join(form.decode([content])), form


def _reject_nulls(text: str) -> str:
    if "\0" in text:
        raise NotTextError
    return text


def normalize(text: str) -> str:
    """Return the text with line feeds as its line endings, as models see it."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def convert_line_endings(text: str, line_ending: str) -> str:
    """Return the text with `line_ending` in place of each line ending."""
    return normalize(text).replace("\n", line_ending) if line_ending != "\n" else normalize(text)


def find_line_ending(text: str) -> str | None:
    """Return the most frequent line ending of a text; None if it has only one line."""
    pairs = text.count("\r\n")
    counts = {"\r\n": pairs, "\n": text.count("\n") - pairs, "\r": text.count("\r") - pairs}
    most = max(counts, key=lambda each: counts[each])
    return most if counts[most] else None


def digest_text(text: str) -> bytes:
    """Return a digest of the text that ignores line endings, which may differ between editor and file."""
    return hashlib.sha256(normalize(text).encode("utf-8", "surrogatepass")).digest()
