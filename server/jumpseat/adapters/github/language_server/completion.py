"""Chats through the Copilot language server's completions, the API that GitHub documents.

The chat is written as a Markdown document that ends where the answer begins, and the server completes it. The
answer is short and not streamed, and its model cannot be chosen. Source:
`textDocument/copilotPanelCompletion` and `textDocument/inlineCompletion` in the README of
github/copilot-language-server-release.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from jumpseat.adapters.base import Replan
from jumpseat.adapters.github.language_server.connection import ServerConnection
from jumpseat.adapters.github.language_server.errors import UPDATE_COMMAND, request_error
from jumpseat.adapters.github.language_server.exchange import Exchange
from jumpseat.adapters.github.language_server.server import LanguageServer
from jumpseat.adapters.github.language_server.turns import as_text_turns
from jumpseat.chat import (
    AuthenticationError,
    ChatRequest,
    DoneEvent,
    ProtocolError,
    ResponseEvent,
    StreamEvent,
)
from jumpseat.dialects.assembly import BlockAssembler
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

PANEL = "textDocument/copilotPanelCompletion"
INLINE = "textDocument/inlineCompletion"

_USER = "## User"
_ASSISTANT = "## Assistant"
_NEXT_HEADING = re.compile(r"^## (?:User|Assistant)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """A chat as a text that the answer continues."""

    uri: str
    text: str

    @property
    def end(self) -> dict[str, int]:
        """The position after the last character: lines from 0, characters in UTF-16 units (LSP)."""
        before, _, last = self.text.rpartition("\n")
        line = before.count("\n") + 1 if "\n" in self.text else 0
        return {"line": line, "character": len(last.encode("utf-16-le")) // 2}

    def text_added_by(self, item: Mapping[str, Any]) -> str:
        """Return the text that an item adds after the end; its range may begin before the end."""
        text, span = item.get("insertText"), item.get("range")
        if not isinstance(text, str):
            return ""
        start = span.get("start") if isinstance(span, Mapping) else None
        place = (start.get("line"), start.get("character")) if isinstance(start, Mapping) else ()
        return text.removeprefix(self.text_from(*place))

    def text_from(self, line: Any = None, character: Any = None) -> str:
        """Return the text from a position to the end; empty for an invalid position."""
        lines = self.text.split("\n")
        if not (isinstance(line, int) and isinstance(character, int) and 0 <= line < len(lines)):
            return ""
        cut = lines[line].encode("utf-16-le")[2 * max(character, 0) :]
        return "\n".join([cut.decode("utf-16-le", "replace"), *lines[line + 1 :]])


class Completions:
    """A provider's chats through completions, each as a document of its own."""

    def __init__(self, provider: str, server: LanguageServer, *, silence_seconds: float) -> None:
        """
        Args:
            provider: the configured provider's id.
            server: the provider's server.
            silence_seconds: the longest time without a report.
        """
        self._provider = provider
        self._server = server
        self._silence_seconds = silence_seconds

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamEvent]:
        """Yield the answer, in one delta. Closing the iterator cancels the request.

        Raises:
            ChatError: there is no completion, or the server failed.
            Replan: the server's short-lived token had expired; the server has replaced it.
        """
        connection = await self._server.connect()
        document = Document(f"untitled:/{uuid4()}/chat.md", document_of(request))
        opened = {"uri": document.uri, "languageId": "markdown", "version": 1, "text": document.text}
        connection.notify("textDocument/didOpen", {"textDocument": opened})
        try:
            answer = await self._answer(connection, document, request.model)
        finally:
            if connection.running:
                connection.notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})
        blocks = BlockAssembler(self._provider, request.model)
        blocks.emit(ResponseEvent(request.model))
        blocks.add_text(answer)
        blocks.close_all()
        blocks.emit(DoneEvent("end_turn"))
        for event in blocks.take():
            yield event

    async def _answer(self, connection: ServerConnection, document: Document, model: str) -> str:
        """Return the first completion of the panel that has text, or else the first inline one."""
        place = {"textDocument": {"uri": document.uri, "version": 1}, "position": document.end}
        unknown = []
        for method, more in ((PANEL, {}), (INLINE, {"context": {"triggerKind": 1}})):
            try:
                async with aclosing(self._stream_items(connection, method, {**place, **more})) as items:
                    async for item in items:
                        if answer := _answer_in(document.text_added_by(item)):
                            return answer
            except RpcError as error:
                if error.code != METHOD_NOT_FOUND:
                    raise completion_error(error, self._provider, model) from error
                unknown.append(method)
        reason, hint = "returned no completion", f'Set providers.{self._provider}.chat_api = "conversation".'
        if len(unknown) == 2:
            reason, hint = "does not support completions", f"Update the server: `{UPDATE_COMMAND}`."
        raise ProtocolError(f"{self._provider} {reason}.", provider=self._provider, hint=hint)

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
                for item in items_in(report):
                    yield item
        for item in items_in(exchange.answer):
            yield item


def completion_error(error: RpcError, provider: str, model: str) -> Exception:
    """Return the exception for a refused completion: a `Replan` if the short-lived token had expired."""
    refused = request_error(error, provider=provider, model=model)
    if isinstance(refused, AuthenticationError) and refused.status_code == 401:
        return Replan("expired_token", refused)
    return refused


def document_of(request: ChatRequest) -> str:
    """Return the chat under headings. The last heading is the assistant's, without a text."""
    parts = ["# A conversation with a helpful assistant"]
    if request.system and request.system.strip():
        parts += ["## Instructions", request.system.strip()]
    for user_text, answer in as_text_turns(request):
        parts += [_USER, user_text.strip(), _ASSISTANT]
        if answer is not None:
            parts.append(answer.strip())
    text = "\n\n".join(filter(None, parts)) + "\n\n"
    # LSP also counts a lone CR as a line end, whereas `Document.end` counts only LF.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _answer_in(text: str) -> str:
    """Return the text up to a heading under which the model continues as the user."""
    following = _NEXT_HEADING.search(text)
    return (text[: following.start()] if following else text).strip()


def items_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the items of a result or a report; anything else is skipped."""
    items: Sequence[Any] | None = value.get("items") if isinstance(value, Mapping) else value
    listed: Iterable[Any] = items if isinstance(items, list) else ()
    return (item for item in listed if isinstance(item, Mapping))
