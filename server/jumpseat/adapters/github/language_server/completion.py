"""Chats and infills through the Copilot language server's completions, the API that GitHub documents.

A chat is written as a Markdown document that ends where the answer begins, and the server completes the
document. The answer is short and not streamed, and its model cannot be chosen. For an infill, the server
receives the whole document, and selects which parts its model sees. Source:
`textDocument/copilotPanelCompletion` and `textDocument/inlineCompletion` in the README of
github/copilot-language-server-release.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from jumpseat.adapters.base import Replan
from jumpseat.adapters.github.language_server.connection import ServerConnection
from jumpseat.adapters.github.language_server.documents import Document
from jumpseat.adapters.github.language_server.errors import UPDATE_COMMAND, request_error
from jumpseat.adapters.github.language_server.exchange import Exchange
from jumpseat.adapters.github.language_server.server import LanguageServer
from jumpseat.adapters.github.language_server.turns import as_text_turns
from jumpseat.chat import (
    AuthenticationError,
    ChatRequest,
    DoneEvent,
    Infill,
    InfillUnsupportedError,
    ProtocolError,
    ResponseEvent,
    StreamEvent,
)
from jumpseat.dialects.assembly import BlockAssembler
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

PANEL = "textDocument/copilotPanelCompletion"
INLINE = "textDocument/inlineCompletion"

INVOKED, AUTOMATIC = 1, 2
"""LSP's trigger kinds: the user asked for a completion explicitly, or only typed."""

_USER = "## User"
_ASSISTANT = "## Assistant"
_NEXT_HEADING = re.compile(r"^## (?:User|Assistant)[ \t]*$", re.MULTILINE)


class Completions:
    """A provider's completions of documents. Each document is open only for the time of the request."""

    def __init__(self, provider: str, server: LanguageServer, *, silence_seconds: float) -> None:
        """
        Args:
            provider: the configured provider's id.
            server: the provider's server.
            silence_seconds: the time without a report or a response after which a request fails.
        """
        self._provider = provider
        self._server = server
        self._silence_seconds = silence_seconds
        # A document must not be opened twice, but a cancelled infill and the next one can overlap.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamEvent]:
        """Yield the answer, or the text of an infill, in one delta. Closing the iterator cancels the request.

        Raises:
            ChatError: there is no completion, or the server failed.
            Replan: the server's short-lived token had expired; the server has replaced it.
        """
        connection = await self._server.connect()
        if request.infill is None:
            text = await self._answer(connection, request)
        else:
            text = await self._fill_in(connection, request.infill, request.model)
        blocks = BlockAssembler(self._provider, request.model)
        blocks.emit(ResponseEvent(request.model))
        blocks.add_text(text)
        blocks.close_all()
        blocks.emit(DoneEvent("end_turn"))
        for event in blocks.take():
            yield event

    async def _answer(self, connection: ServerConnection, request: ChatRequest) -> str:
        """Return the first completion that has text: from the panel, or else an inline completion."""
        document = Document(f"untitled:/{uuid4()}/chat.md", document_of(request), language_id="markdown")
        unknown_methods = []
        with document.open_in(connection) as place:
            for method, more in ((PANEL, {}), (INLINE, {"context": {"triggerKind": INVOKED}})):
                try:
                    async with aclosing(self._stream_items(connection, method, {**place, **more})) as items:
                        async for item in items:
                            if answer := _answer_in(document.text_added_by(item)):
                                return answer
                except RpcError as error:
                    if error.code != METHOD_NOT_FOUND:
                        raise self._completion_error(error, request.model) from error
                    unknown_methods.append(method)
        reason, hint = "returned no completion", f'Set providers.{self._provider}.chat_api = "conversation".'
        if len(unknown_methods) == 2:
            reason, hint = "does not support completions", f"Update the server: `{UPDATE_COMMAND}`."
        raise ProtocolError(f"{self._provider} {reason}.", provider=self._provider, hint=hint)

    async def _fill_in(self, connection: ServerConnection, infill: Infill, model: str) -> str:
        """Return the text of the first inline completion that only inserts; empty if there is none."""
        document = Document(
            infill.uri or f"untitled:/{uuid4()}",
            infill.prefix,
            infill.suffix,
            infill.language_id or "plaintext",
        )
        async with self._locks.setdefault(document.uri, asyncio.Lock()):
            with document.open_in(connection) as place:
                params = {**place, "context": {"triggerKind": AUTOMATIC}}
                try:
                    answer = await connection.request(INLINE, params, seconds=self._silence_seconds)
                except RpcError as error:
                    if error.code != METHOD_NOT_FOUND:
                        raise self._completion_error(error, model) from error
                    unsupported = InfillUnsupportedError.of(self._provider, model)
                    unsupported.hint = f"Update the server: `{UPDATE_COMMAND}`."
                    raise unsupported from error
        return next(filter(None, map(document.text_inserted_by, _items_in(answer))), "")

    async def _stream_items(
        self, connection: ServerConnection, method: str, params: Mapping[str, Any]
    ) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield the items in order of arrival. Closing the iterator cancels the request."""
        token = f"jumpseat-{uuid4()}"
        exchange = Exchange(
            connection,
            method,
            {**params, "partialResultToken": token},
            token=token,
            provider=self._provider,
            silence_seconds=self._silence_seconds,
        )
        async with aclosing(exchange.read_reports()) as reports:
            async for report in reports:
                for item in _items_in(report):
                    yield item
        for item in _items_in(exchange.answer):
            yield item

    def _completion_error(self, error: RpcError, model: str) -> Exception:
        """Return the exception for a refused completion: a `Replan` if the short-lived token had expired."""
        refused = request_error(error, provider=self._provider, model=model)
        if isinstance(refused, AuthenticationError) and refused.status_code == 401:
            return Replan("expired_token", refused)
        return refused


def document_of(request: ChatRequest) -> str:
    """Return the chat as a document with headings. The heading of the next answer is at the end."""
    parts = ["# A conversation with a helpful assistant"]
    if request.system and request.system.strip():
        parts += ["## Instructions", request.system.strip()]
    for user_text, answer in as_text_turns(request):
        parts += [_USER, user_text.strip(), _ASSISTANT]
        if answer is not None:
            parts.append(answer.strip())
    text = "\n\n".join(filter(None, parts)) + "\n\n"
    # LSP also counts a lone CR as a line ending, whereas `Document.position` counts only LF.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _answer_in(text: str) -> str:
    """Return the text up to the next heading, where the model starts to invent the user's next message."""
    following = _NEXT_HEADING.search(text)
    return (text[: following.start()] if following else text).strip()


def _items_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the items of a result or a report; anything else is skipped."""
    items: Sequence[Any] | None = value.get("items") if isinstance(value, Mapping) else value
    listed: Iterable[Any] = items if isinstance(items, list) else ()
    return (item for item in listed if isinstance(item, Mapping))
