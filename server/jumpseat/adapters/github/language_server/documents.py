"""Documents in which the language server completes the text at one place. Source: LSP 3.18."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jumpseat.adapters.github.language_server.connection import ServerConnection


@dataclass(frozen=True, slots=True)
class Document:
    """A document and a place in it: the place is between `text` and `suffix`."""

    uri: str
    text: str
    suffix: str = ""
    language_id: str = "plaintext"

    @property
    def position(self) -> dict[str, int]:
        """The LSP position of the place: lines from 0, characters in UTF-16 units."""
        before, _, last = self.text.rpartition("\n")
        line = before.count("\n") + 1 if "\n" in self.text else 0
        return {"line": line, "character": len(last.encode("utf-16-le")) // 2}

    @contextmanager
    def open_in(self, connection: ServerConnection) -> Iterator[dict[str, Any]]:
        """Keep the document open in the server, and yield the params that name the place."""
        version = {"uri": self.uri, "version": 1}
        opened = {**version, "languageId": self.language_id, "text": self.text + self.suffix}
        connection.notify("textDocument/didOpen", {"textDocument": opened})
        try:
            yield {"textDocument": version, "position": self.position}
        finally:
            if connection.running:
                connection.notify("textDocument/didClose", {"textDocument": {"uri": self.uri}})

    def text_added_by(self, item: Mapping[str, Any]) -> str:
        """Return the text that a completion item adds after the place.

        The range that the item replaces may begin before the place.
        """
        text, start, _ = _read_item(item)
        return text.removeprefix(self._text_from(*start))

    def text_inserted_by(self, item: Mapping[str, Any]) -> str:
        """Return the text that a completion item inserts at the place.

        The result is empty if the item also changes the text around the place.
        """
        text, start, end = _read_item(item)
        before, after = self._text_from(*start), self._text_until(*end)
        if len(text) < len(before) + len(after) or not (text.startswith(before) and text.endswith(after)):
            return ""
        return text[len(before) : len(text) - len(after)]

    def _text_from(self, line: Any, character: Any) -> str:
        """Return the text from a position to the place; empty for an invalid position."""
        lines = self.text.split("\n")
        if not (isinstance(line, int) and isinstance(character, int) and 0 <= line < len(lines)):
            return ""
        cut = lines[line].encode("utf-16-le")[2 * max(character, 0) :]
        return "\n".join([cut.decode("utf-16-le", "replace"), *lines[line + 1 :]])

    def _text_until(self, line: Any, character: Any) -> str:
        """Return the text from the place to a position; empty for an invalid position."""
        if not (isinstance(line, int) and isinstance(character, int)):
            return ""
        place, lines = self.position, self.suffix.split("\n")
        number = line - place["line"]
        if not 0 <= number < len(lines):
            return ""
        left = max(character - (place["character"] if number == 0 else 0), 0)
        last = lines[number].encode("utf-16-le")[: 2 * left].decode("utf-16-le", "replace")
        return "\n".join([*lines[:number], last])


def _read_item(item: Mapping[str, Any]) -> tuple[str, tuple[Any, Any], tuple[Any, Any]]:
    """Return a completion item's text, and the start and end of the range that it replaces."""
    text, span = item.get("insertText"), item.get("range")
    ends = (span.get("start"), span.get("end")) if isinstance(span, Mapping) else (None, None)
    start, end = (
        (each.get("line"), each.get("character")) if isinstance(each, Mapping) else (None, None)
        for each in ends
    )
    return text if isinstance(text, str) else "", start, end
