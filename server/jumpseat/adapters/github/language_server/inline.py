"""Texts at a place of a document, through the language server's inline completions.

Unlike other providers, the server receives the whole document, and selects what its model sees. Source:
`textDocument/inlineCompletion` in the README of github/copilot-language-server-release, and LSP 3.18.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from jumpseat.adapters.github.language_server.completion import (
    INLINE,
    Document,
    completion_error,
    items_in,
)
from jumpseat.adapters.github.language_server.connection import ServerConnection
from jumpseat.adapters.github.language_server.errors import UPDATE_COMMAND
from jumpseat.adapters.github.language_server.server import LanguageServer
from jumpseat.chat import (
    ChatRequest,
    DoneEvent,
    Infill,
    InfillUnsupportedError,
    ResponseEvent,
    StreamEvent,
)
from jumpseat.dialects.assembly import BlockAssembler
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

AUTOMATIC = 2
"""The trigger kind of a completion that the user did not ask for; LSP's other kind lists alternatives."""


@dataclass(frozen=True, slots=True)
class DocumentPlace(Document):
    """A place in a document: `text` ends there."""

    suffix: str

    def text_inserted_by(self, item: Mapping[str, Any]) -> str:
        """Return the text that an item inserts at the place; empty if it changes the text around it."""
        text, span = item.get("insertText"), item.get("range")
        if not isinstance(text, str):
            return ""
        before = after = ""
        if isinstance(span, Mapping):
            before = self.text_from(*_position(span.get("start")))
            after = self._text_until(*_position(span.get("end")))
        if len(text) < len(before) + len(after) or not (text.startswith(before) and text.endswith(after)):
            return ""
        return text[len(before) : len(text) - len(after)]

    def _text_until(self, line: Any = None, character: Any = None) -> str:
        """Return the text from the place to a position; empty for an invalid position."""
        if not (isinstance(line, int) and isinstance(character, int)):
            return ""
        place, lines = self.end, self.suffix.split("\n")
        number = line - place["line"]
        if not 0 <= number < len(lines):
            return ""
        left = max(character - (place["character"] if number == 0 else 0), 0)
        last = lines[number].encode("utf-16-le")[: 2 * left].decode("utf-16-le", "replace")
        return "\n".join([*lines[:number], last])


class InlineCompletions:
    """A provider's completions. Each opens its document only for the time of the request."""

    def __init__(self, provider: str, server: LanguageServer, *, silence_seconds: float) -> None:
        """
        Args:
            provider: the configured provider's id.
            server: the provider's server.
            silence_seconds: the time limit of a request.
        """
        self._provider = provider
        self._server = server
        self._silence_seconds = silence_seconds
        # A document may be open only once, but a cancelled completion and the next one may overlap.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def stream(self, request: ChatRequest, infill: Infill) -> AsyncGenerator[StreamEvent]:
        """Yield the text at the place, in one delta. Closing the iterator cancels the request.

        Raises:
            ChatError: the server failed, or has no completions.
            Replan: the server's short-lived token had expired; the server has replaced it.
        """
        connection = await self._server.connect()
        uri = infill.uri or f"untitled:/{uuid4()}"
        lock = self._locks.setdefault(uri, asyncio.Lock())
        async with lock:
            text = await self._complete(
                connection, DocumentPlace(uri, infill.prefix, infill.suffix), infill, request
            )
        blocks = BlockAssembler(self._provider, request.model)
        blocks.emit(ResponseEvent(request.model))
        blocks.add_text(text)
        blocks.close_all()
        blocks.emit(DoneEvent("end_turn"))
        for event in blocks.take():
            yield event

    async def _complete(
        self, connection: ServerConnection, place: DocumentPlace, infill: Infill, request: ChatRequest
    ) -> str:
        """Return the text of the first item that only inserts."""
        document = {"uri": place.uri, "version": 1}
        opened = {"languageId": infill.language_id or "plaintext", "text": place.text + place.suffix}
        connection.notify("textDocument/didOpen", {"textDocument": {**document, **opened}})
        params = {"textDocument": document, "position": place.end, "context": {"triggerKind": AUTOMATIC}}
        try:
            answer = await connection.request(INLINE, params, seconds=self._silence_seconds)
        except RpcError as error:
            if error.code != METHOD_NOT_FOUND:
                raise completion_error(error, self._provider, request.model) from error
            old = InfillUnsupportedError.of(self._provider, request.model)
            old.hint = f"Update the server: `{UPDATE_COMMAND}`."
            raise old from error
        finally:
            if connection.running:
                connection.notify("textDocument/didClose", {"textDocument": {"uri": place.uri}})
        return next(filter(None, map(place.text_inserted_by, items_in(answer))), "")


def _position(value: Any) -> tuple[Any, Any]:
    return (value.get("line"), value.get("character")) if isinstance(value, Mapping) else (None, None)
