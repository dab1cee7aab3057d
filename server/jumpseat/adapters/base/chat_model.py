"""One model of an adapter, for programs that do not use the daemon; and the events of one attempt."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from jumpseat.adapters.base.replan import Replan
from jumpseat.chat import (
    DEFAULT_MAX_TOKENS,
    ChatError,
    ChatRequest,
    Fold,
    Message,
    ProtocolError,
    Response,
    StreamEvent,
    ToolDefinition,
    as_tool_definitions,
)

OnDelta: TypeAlias = Callable[[StreamEvent], Awaitable[None] | None]


class ChatAdapter(Protocol):
    """The members of an adapter that a chat needs."""

    @property
    def provider_name(self) -> str:
        """The configured provider's id."""
        ...

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt at a turn."""
        ...

    def max_context_tokens(self, model: str) -> int | None:
        """Return the model's context length in tokens, if it is known."""
        ...


class ChatModel:
    """One model of one adapter, for programs that do not use the daemon."""

    def __init__(self, adapter: ChatAdapter, model: str, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        """
        Args:
            adapter: the provider.
            model: the provider's own name for the model.
            max_tokens: the limit of output tokens for calls of `chat` without their own limit.
        """
        self.adapter = adapter
        self.model_name = model
        self.max_tokens = max_tokens

    @property
    def provider_name(self) -> str:
        """The configured provider's id."""
        return self.adapter.provider_name

    @property
    def max_context_tokens(self) -> int | None:
        """The model's context length in tokens, if it is known."""
        return self.adapter.max_context_tokens(self.model_name)

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        system: str | None = None,
        tools: Sequence[ToolDefinition | Mapping[str, Any]] = (),
        stream: bool = False,
        max_tokens: int | None = None,
        on_delta: OnDelta | None = None,
        **options: Any,
    ) -> Response:
        """Send a conversation and return the complete answer, folded from the adapter's events.

        Args:
            messages: the conversation, oldest first, at least one message.
            system: the system prompt.
            tools: definitions, or mappings with `name`, `description` and `parameters`.
            stream: ask the provider to stream; otherwise `on_delta` receives all events at the end.
            max_tokens: the limit of output tokens; None for the limit that the constructor received.
            on_delta: called with each event, and awaited if it returns an awaitable.
            options: any other field of `ChatRequest`.

        Raises:
            ChatError: an error of the adapter's `stream`, with `partial` set. There are no retries.
        """
        request = ChatRequest(
            messages=tuple(messages),
            model=self.model_name,
            system=system,
            tools=as_tool_definitions(tools),
            stream=stream,
            max_tokens=self.max_tokens if max_tokens is None else max_tokens,
            **options,
        )
        fold = Fold(self.provider_name, self.model_name)
        try:
            async with events_of(self.adapter, request) as events:
                async for event in events:
                    fold.add(event)
                    if on_delta is not None:
                        result = on_delta(event)
                        if inspect.isawaitable(result):
                            await result
            if fold.stop_reason is None:
                raise unfinished_answer_error(self.provider_name)
        except Replan as replan:
            _add_partial(replan.error, fold)
            raise replan.error from replan
        except ChatError as error:
            _add_partial(error, fold)
            raise
        return fold.response()


def unfinished_answer_error(provider: str) -> ProtocolError:
    """Return the error for an attempt whose events end without a `DoneEvent`."""
    return ProtocolError(f"{provider} ended its answer without a stop reason.", provider=provider)


def _add_partial(error: ChatError, fold: Fold) -> None:
    error.partial = replace(fold.partial(), stop_reason=None)


@asynccontextmanager
async def events_of(adapter: ChatAdapter, request: ChatRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """Open the events of one attempt. Leaving the context closes them, which ends the upstream request."""
    events = adapter.stream(request)
    try:
        yield events
    finally:
        # A plug-in's iterator need not be a generator, and may lack `aclose`.
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
