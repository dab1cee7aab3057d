"""Chats through the Copilot language server's conversations.

Decides in which of the server's conversations a chat goes on, and when one is given up. Source:
`conversation/create`, `/turn` and `/destroy` of `@github/copilot-language-server` 1.539; GitHub documents
none of them, and its own editors use them all.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from jumpseat.adapters.base import Replan
from jumpseat.adapters.github.language_server.connection import ServerConnection
from jumpseat.adapters.github.language_server.errors import request_error
from jumpseat.adapters.github.language_server.exchange import Exchange
from jumpseat.adapters.github.language_server.notices import notice_in
from jumpseat.adapters.github.language_server.progress import ProgressDecoder
from jumpseat.adapters.github.language_server.server import LanguageServer
from jumpseat.adapters.github.language_server.turns import Turn, fingerprint, goes_on_itself, turns_of
from jumpseat.chat import (
    BLOCK_EVENTS,
    AuthenticationError,
    ChatError,
    ChatRequest,
    DoneEvent,
    StreamEvent,
    WarningEvent,
)
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

logger = logging.getLogger(__name__)

KEPT_CONVERSATIONS = 32
"""Chats that may go on in the conversation they are in; the child keeps all of each in its memory."""

SERVICE_SECONDS = 10.0
"""For what the server does by itself, without asking anybody."""


class NotOffered(Exception):  # noqa: N818 - a fact about the server, which the adapter acts on
    """This server has no conversations."""


class Conversations:
    """All chats of one provider that take this way.

    A chat is known by what was said in it so far: where only a user's message is new, it goes on in the
    conversation that the server has of it, else in a new one with the chat as its history.
    """

    def __init__(self, provider: str, server: LanguageServer, *, silence_seconds: float) -> None:
        """
        Args:
            provider: the configured provider's id.
            server: the child.
            silence_seconds: how long a turn may go without a report.
        """
        self._provider = provider
        self._server = server
        self._silence_seconds = silence_seconds
        self._known: OrderedDict[str, str] = OrderedDict()
        self._connection: ServerConnection | None = None
        self._preparing = asyncio.Lock()
        self._limit_ends: datetime | None = None
        """Of the limit that was last reported as used up; the server reports it once and may refuse later."""

        self._running: set[ProgressDecoder] = set()
        self._errands: set[asyncio.Task[None]] = set()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamEvent]:
        """One turn of a chat; closing it has the server drop its request upstream at once.

        Raises:
            NotOffered: the server has no such methods; nothing was yielded.
            ChatError: the turn failed; events already yielded stay valid.
            Replan: the server's short-lived token had expired; it has a fresh one by now.
        """
        connection = await self._server.connection()
        await self._prepare(connection)
        chat = _Chat(connection, request, turns_of(request))
        known = self._known.pop(fingerprint(chat.turns[:-1]), None)
        if known is not None:
            decoder = self._decoder(request, known)
            more = {"conversationId": known, "message": chat.turns[-1].request}
            try:
                async with aclosing(self._turn(chat, "conversation/turn", more, decoder)) as events:
                    async for event in events:
                        yield event
                return
            except RpcError as error:
                if decoder.begun:
                    raise self._refusal(error, request, decoder) from error
                # It has forgotten the conversation, or does not go on in one; nothing was asked upstream.
                logger.debug("%s begins a new conversation: %s", self._provider, error.message)
        decoder = self._decoder(request, None)
        try:
            async with aclosing(
                self._turn(chat, "conversation/create", _opening(chat.turns), decoder)
            ) as events:
                async for event in events:
                    yield event
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND and not decoder.begun:
                raise NotOffered(error.message) from error
            raise self._refusal(error, request, decoder) from error

    def notified(self, method: str, params: Any) -> None:
        """Take a notification of the server's: running chats get warnings of limits that come near."""
        if (notice := notice_in(method, params)) is not None:
            self._limit_ends = notice.reset_at or self._limit_ends
            for decoder in self._running:
                decoder.notice(notice)

    async def aclose(self) -> None:
        """Cancel the messages to the server that are still unsent."""
        for errand in self._errands:
            errand.cancel()
        await asyncio.gather(*self._errands, return_exceptions=True)

    async def _turn(
        self, chat: _Chat, method: str, more: Mapping[str, Any], decoder: ProgressDecoder
    ) -> AsyncGenerator[StreamEvent]:
        """One turn. Its conversation is kept if it ends well, and given up if not."""
        token = f"jumpseat-{uuid4()}"
        exchange = Exchange(
            chat.connection,
            method,
            {"workDoneToken": token, **_named(chat.request), **more},
            token=token,
            provider=self._provider,
            silence_seconds=self._silence_seconds,
            has_ended=lambda: decoder.ended,
        )
        has_output = kept = False
        self._running.add(decoder)
        try:
            async with aclosing(exchange.reports()) as reports:
                async for report in reports:
                    for event in decoder.feed(report):
                        has_output = has_output or isinstance(event, BLOCK_EVENTS)
                        yield event
            last = decoder.finish(exchange.answer)
            # Before the end is yielded: a caller that got it does not ask for more. Of an answer that was
            # cut off the server remembers its own complaint as the assistant's words.
            kept = any(_is_well(event) for event in last) and self._keep(chat, decoder)
            for event in last:
                yield event
        except AuthenticationError as error:
            if has_output or error.status_code != 401:
                raise
            raise Replan("expired_token", error) from error
        finally:
            self._running.discard(decoder)
            if not kept and decoder.conversation_id is not None:
                self._give_up(chat.connection, decoder.conversation_id)

    def _refusal(self, error: RpcError, request: ChatRequest, decoder: ProgressDecoder) -> ChatError | Replan:
        refused = request_error(error, provider=self._provider, model=request.model)
        if isinstance(refused, AuthenticationError) and refused.status_code == 401 and not decoder.begun:
            return Replan("expired_token", refused)
        return refused

    def _decoder(self, request: ChatRequest, conversation_id: str | None) -> ProgressDecoder:
        if self._limit_ends is not None and self._limit_ends <= datetime.now(UTC):
            self._limit_ends = None
        decoder = ProgressDecoder(
            self._provider,
            request.model,
            list(_warnings(request)),
            expects_thinking=request.thinking not in (None, "off"),
            reset_at=self._limit_ends,
        )
        decoder.conversation_id = conversation_id
        return decoder

    async def _prepare(self, connection: ServerConnection) -> None:
        """Prepare a new server before its first conversation; forget the conversations of an old one."""
        async with self._preparing:
            if self._connection is not connection:
                self._known.clear()
                await self._take_tools_away(connection)
                self._connection = connection

    async def _take_tools_away(self, connection: ServerConnection) -> None:
        """Have it offer the model no tools of its own, which read files that the user did not attach."""
        try:
            tools = await connection.request(
                "conversation/registerTools", {"tools": []}, seconds=SERVICE_SECONDS
            )
            ids = [tool["id"] for tool in tools if isinstance(tool.get("id"), str)]
            await connection.request(
                "conversation/unregisterTools", {"toolIds": ids}, seconds=SERVICE_SECONDS
            )
        except (RpcError, ChatError, AttributeError, TypeError) as error:
            logger.debug("the tools of %s could not be taken away: %s", self._provider, error)

    def _keep(self, chat: _Chat, decoder: ProgressDecoder) -> bool:
        """Remember where this chat goes on; whether it may."""
        if chat.connection is not self._connection or decoder.conversation_id is None:
            return False
        *before, last = chat.turns
        key = fingerprint([*before, Turn(last.request, decoder.text)])
        replaced = self._known.pop(key, None)
        if replaced is not None:
            self._give_up(chat.connection, replaced)
        self._known[key] = decoder.conversation_id
        while len(self._known) > KEPT_CONVERSATIONS:
            _, oldest = self._known.popitem(last=False)
            self._give_up(chat.connection, oldest)
        return True

    def _give_up(self, connection: ServerConnection, conversation_id: str) -> None:
        """Have the server forget a conversation, in the background; a failure is logged only."""
        errand = asyncio.ensure_future(self._destroy(connection, conversation_id))
        self._errands.add(errand)
        errand.add_done_callback(self._errands.discard)

    async def _destroy(self, connection: ServerConnection, conversation_id: str) -> None:
        params = {"conversationId": conversation_id, "options": {}}
        try:
            await connection.request("conversation/destroy", params, seconds=SERVICE_SECONDS)
        except (RpcError, ChatError) as error:
            logger.debug("a conversation of %s could not be given up: %s", self._provider, error)


def _is_well(event: StreamEvent) -> bool:
    return isinstance(event, DoneEvent) and event.stop_reason == "end_turn"


class _Chat:
    """What a turn is made of, whichever conversation it goes to."""

    def __init__(self, connection: ServerConnection, request: ChatRequest, turns: Sequence[Turn]) -> None:
        self.connection = connection
        self.request = request
        self.turns = turns


def _opening(turns: Sequence[Turn]) -> dict[str, Any]:
    return {
        "turns": [turn.to_wire() for turn in turns],
        "capabilities": {"skills": [], "allSkills": False},
    }


def _named(request: ChatRequest) -> dict[str, Any]:
    """What both methods take: the model in the words of all versions, and nothing of an editor's."""
    model: dict[str, Any] = {"id": request.model}
    if request.thinking not in (None, "off"):
        model["reasoningEffort"] = request.thinking
    return {
        "source": "panel",
        "chatMode": "Ask",
        "model": request.model,
        "modelInfo": model,
        "workspaceFolders": [],
        "references": [],
        # They are further requests to the model, whose answers no client would see.
        "computeSuggestions": False,
    }


def _warnings(request: ChatRequest) -> Iterator[WarningEvent]:
    if goes_on_itself(request):
        message = (
            "The Copilot language server lets no model go on with its own message; it was asked to instead."
        )
        yield WarningEvent("prefill_replaced", message)
    if request.thinking == "off":
        message = "The Copilot language server has no way to turn thinking off; the model decides."
        yield WarningEvent("thinking_dropped", message)
