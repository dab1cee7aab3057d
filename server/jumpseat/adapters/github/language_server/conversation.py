"""Chats through the Copilot language server's conversations.

Decides which of the server's conversations a chat continues, and when a conversation is deleted. Source:
`conversation/create`, `/turn` and `/destroy` of `@github/copilot-language-server` 1.539. GitHub's own
plug-ins use these methods, which are not documented.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from jumpseat.adapters.base import Replan
from jumpseat.adapters.github.language_server.connection import ServerConnection
from jumpseat.adapters.github.language_server.errors import request_error
from jumpseat.adapters.github.language_server.exchange import Exchange
from jumpseat.adapters.github.language_server.notices import notice_in
from jumpseat.adapters.github.language_server.progress import ProgressDecoder
from jumpseat.adapters.github.language_server.server import LanguageServer
from jumpseat.adapters.github.language_server.turns import (
    GO_ON,
    Turn,
    ends_with_assistant,
    fingerprint,
    turns_of,
)
from jumpseat.chat import (
    BLOCK_EVENTS,
    AuthenticationError,
    ChatError,
    ChatRequest,
    DoneEvent,
    StreamEvent,
    WarningEvent,
)
from jumpseat.dialects.efforts import COMMON, effort_warning, nearest_effort
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

logger = logging.getLogger(__name__)

MAX_CONVERSATIONS = 32
"""The maximum number of conversations that chats may continue; the server keeps each in memory."""

LOCAL_SECONDS = 10.0
"""The time limit of a request that the server answers without asking GitHub."""


class NoConversations(Exception):  # noqa: N818 - a fact about the server, which the adapter acts on
    """The server does not have the methods for conversations."""


class Conversations:
    """The conversations that a provider's chats have in the server.

    A chat that adds one user message to the end of a known conversation continues it. Any other chat starts a
    new conversation, with the earlier messages as its history.
    """

    def __init__(self, provider: str, server: LanguageServer, *, silence_seconds: float) -> None:
        """
        Args:
            provider: the configured provider's id.
            server: the provider's server.
            silence_seconds: the time without a report from the server after which a turn fails.
        """
        self._provider = provider
        self._server = server
        self._silence_seconds = silence_seconds
        self._known: OrderedDict[int, str] = OrderedDict()
        """The ids of the conversations that chats may continue, by the `fingerprint` of their turns."""

        self._connection: ServerConnection | None = None
        """The run of the server that has the conversations in `_known`."""

        self._preparing = asyncio.Lock()
        self._limit_ends: datetime | None = None
        """The end of the rate limit that was last reported as used up.

        The server reports this time once, and may refuse later turns without repeating it.
        """

        self._running: set[ProgressDecoder] = set()
        self._deletions: set[asyncio.Task[None]] = set()

    async def stream(
        self, request: ChatRequest, listed_efforts: Sequence[str] | None = None
    ) -> AsyncGenerator[StreamEvent]:
        """Run one turn of a chat. Closing the iterator cancels the server's request to GitHub immediately.

        Args:
            request: the request of the turn.
            listed_efforts: the model's efforts according to the list of models; None if they are unknown.

        Raises:
            NoConversations: the server does not have the methods for conversations; nothing was yielded.
            ChatError: the turn failed; events already yielded stay valid.
            Replan: the server's short-lived token had expired; the server has replaced it.
        """
        connection = await self._server.connect()
        await self._prepare(connection)
        effort = None
        if request.thinking is not None and (request.thinking != "off" or listed_efforts):
            effort = nearest_effort(request.thinking, listed_efforts or COMMON)
        chat = _Chat(connection, request, turns_of(request), effort)
        known = self._known.pop(fingerprint(chat.turns[:-1]), None)
        if known is not None:
            decoder = self._make_decoder(chat, known)
            more = {"conversationId": known, "message": chat.turns[-1].request}
            try:
                async with aclosing(self._run_turn(chat, "conversation/turn", more, decoder)) as events:
                    async for event in events:
                        yield event
                return
            except RpcError as error:
                if decoder.begun:
                    raise self._explain_refusal(error, request, decoder) from error
                # The server no longer has the conversation, or cannot continue conversations. GitHub has not
                # received a request, so a new conversation can be started.
                logger.debug("%s begins a new conversation: %s", self._provider, error.message)
        decoder = self._make_decoder(chat, None)
        try:
            async with aclosing(
                self._run_turn(chat, "conversation/create", _opening(chat.turns), decoder)
            ) as events:
                async for event in events:
                    yield event
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND and not decoder.begun:
                raise NoConversations(error.message) from error
            raise self._explain_refusal(error, request, decoder) from error

    def handle_notification(self, method: str, params: Any) -> None:
        """Handle a notification of the server. If it is about a limit, running chats emit a warning."""
        if (notice := notice_in(method, params)) is not None:
            self._limit_ends = notice.reset_at or self._limit_ends
            for decoder in self._running:
                decoder.add_notice(notice)

    async def aclose(self) -> None:
        """Cancel the deletions that are in progress."""
        for deletion in self._deletions:
            deletion.cancel()
        await asyncio.gather(*self._deletions, return_exceptions=True)

    async def _run_turn(
        self, chat: _Chat, method: str, more: Mapping[str, Any], decoder: ProgressDecoder
    ) -> AsyncGenerator[StreamEvent]:
        """Run one turn. Then keep the conversation if the answer is complete, or else delete it."""
        token = f"jumpseat-{uuid4()}"
        exchange = Exchange(
            chat.connection,
            method,
            {"workDoneToken": token, **_common_params(chat), **more},
            token=token,
            provider=self._provider,
            silence_seconds=self._silence_seconds,
            has_ended=lambda: decoder.ended,
        )
        has_output = kept = False
        self._running.add(decoder)
        try:
            async with aclosing(exchange.read_reports()) as reports:
                async for report in reports:
                    for event in decoder.feed(report):
                        has_output = has_output or isinstance(event, BLOCK_EVENTS)
                        yield event
            last = decoder.finish(exchange.answer)
            # Keep the conversation before yielding the last events, because a caller may stop reading there.
            # A conversation whose answer was cut off cannot be continued: the server's history has an error
            # message in place of the answer.
            is_complete = any(
                isinstance(event, DoneEvent) and event.stop_reason == "end_turn" for event in last
            )
            kept = is_complete and self._keep(chat, decoder)
            for event in last:
                yield event
        except AuthenticationError as error:
            if has_output or error.status_code != 401:
                raise
            raise Replan("expired_token", error) from error
        finally:
            self._running.discard(decoder)
            if not kept and decoder.conversation_id is not None:
                self._delete_later(chat.connection, decoder.conversation_id)

    def _explain_refusal(
        self, error: RpcError, request: ChatRequest, decoder: ProgressDecoder
    ) -> ChatError | Replan:
        refused = request_error(error, provider=self._provider, model=request.model)
        if isinstance(refused, AuthenticationError) and refused.status_code == 401 and not decoder.begun:
            return Replan("expired_token", refused)
        return refused

    def _make_decoder(self, chat: _Chat, conversation_id: str | None) -> ProgressDecoder:
        if self._limit_ends is not None and self._limit_ends <= datetime.now(UTC):
            self._limit_ends = None
        decoder = ProgressDecoder(
            self._provider,
            chat.request.model,
            list(_warnings(chat)),
            expects_thinking=chat.request.thinking not in (None, "off"),
            reset_at=self._limit_ends,
        )
        decoder.conversation_id = conversation_id
        return decoder

    async def _prepare(self, connection: ServerConnection) -> None:
        """Remove the tools of a newly started server, and forget the previous server's conversations."""
        async with self._preparing:
            if self._connection is not connection:
                self._known.clear()
                await self._remove_tools(connection)
                self._connection = connection

    async def _remove_tools(self, connection: ServerConnection) -> None:
        # The server's own tools would allow a model to read files that the user did not attach.
        try:
            tools = await connection.request(
                "conversation/registerTools", {"tools": []}, seconds=LOCAL_SECONDS
            )
            ids = [tool["id"] for tool in tools if isinstance(tool.get("id"), str)]
            await connection.request("conversation/unregisterTools", {"toolIds": ids}, seconds=LOCAL_SECONDS)
        except (RpcError, ChatError, AttributeError, TypeError) as error:
            logger.debug("the tools of %s could not be removed: %s", self._provider, error)

    def _keep(self, chat: _Chat, decoder: ProgressDecoder) -> bool:
        """Remember the conversation for the chat's next turn; return False if it cannot be continued."""
        if chat.connection is not self._connection or decoder.conversation_id is None:
            return False
        *before, last = chat.turns
        key = fingerprint([*before, Turn(last.request, decoder.text)])
        replaced = self._known.pop(key, None)
        if replaced is not None:
            self._delete_later(chat.connection, replaced)
        self._known[key] = decoder.conversation_id
        while len(self._known) > MAX_CONVERSATIONS:
            _, oldest = self._known.popitem(last=False)
            self._delete_later(chat.connection, oldest)
        return True

    def _delete_later(self, connection: ServerConnection, conversation_id: str) -> None:
        """Delete a conversation of the server in the background; a failure is only logged."""
        deletion = asyncio.ensure_future(self._delete(connection, conversation_id))
        self._deletions.add(deletion)
        deletion.add_done_callback(self._deletions.discard)

    async def _delete(self, connection: ServerConnection, conversation_id: str) -> None:
        params = {"conversationId": conversation_id, "options": {}}
        try:
            await connection.request("conversation/destroy", params, seconds=LOCAL_SECONDS)
        except (RpcError, ChatError) as error:
            logger.debug("a conversation of %s could not be deleted: %s", self._provider, error)


class _Chat(NamedTuple):
    """The input of a turn, in a new or a continued conversation."""

    connection: ServerConnection
    request: ChatRequest
    turns: Sequence[Turn]
    effort: str | None
    """The effort to request for the thinking level; None to leave it out of the request."""


def _opening(turns: Sequence[Turn]) -> dict[str, Any]:
    return {
        "turns": [turn.to_wire() for turn in turns],
        "capabilities": {"skills": [], "allSkills": False},
    }


def _common_params(chat: _Chat) -> dict[str, Any]:
    """Return the params of both `conversation/create` and `conversation/turn`.

    They name the model twice, because some versions of the server read `model` and others `modelInfo`. They
    contain no context from an editor.
    """
    model: dict[str, Any] = {"id": chat.request.model}
    if chat.effort is not None:
        model["reasoningEffort"] = chat.effort
    return {
        "source": "panel",
        "chatMode": "Ask",
        "model": chat.request.model,
        "modelInfo": model,
        "workspaceFolders": [],
        "references": [],
        # Suggestions cost another request to the model, and no client would receive them.
        "computeSuggestions": False,
    }


def _warnings(chat: _Chat) -> Iterator[WarningEvent]:
    request = chat.request
    if ends_with_assistant(request):
        message = (
            "With the Copilot language server, models cannot continue their own message, so a user message "
            f"{GO_ON!r} was added."
        )
        yield WarningEvent("prefill_replaced", message)
    if request.thinking == "off" and chat.effort is None:
        message = "The Copilot language server cannot turn thinking off. The model decides whether to think."
        yield WarningEvent("thinking_dropped", message)
    elif request.thinking is not None:
        warning = effort_warning(request.model, request.thinking, chat.effort)
        if warning is not None:
            yield warning
