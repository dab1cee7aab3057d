"""A scripted language server behind the parts that chat through it, and what a chat came to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from jumpseat.adapters.github.language_server import requests
from jumpseat.adapters.github.language_server.completion import Completions
from jumpseat.adapters.github.language_server.conversation import Conversations
from jumpseat.adapters.github.language_server.server import LanguageServer
from jumpseat.chat import ChatRequest, Fold, Message, Response, StreamEvent, TextDeltaEvent
from jumpseat.config import ProviderConfig, Values
from jumpseat.testing.laws import assert_laws
from jumpseat.wire import RpcError
from tests.fakes.language_server import FakeLanguageServer

CREATE, TURN, DESTROY = "conversation/create", "conversation/turn", "conversation/destroy"
MISSING = RpcError(-32601, "Method not found")

PATIENCE_SECONDS = 20.0
"""Far more than anything here takes."""


@asynccontextmanager
async def conversations(
    fake: FakeLanguageServer, silence_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[Conversations]:
    """The way of conversations; it hears what the server notifies."""
    ways: list[Conversations] = []

    def notified(method: str, params: Any) -> None:
        ways[0].notified(method, params)

    server = _server(fake, notified)
    ways.append(Conversations("helper", server, silence_seconds=silence_seconds))
    try:
        yield ways[0]
    finally:
        await ways[0].aclose()
        await server.aclose()


@asynccontextmanager
async def completions(
    fake: FakeLanguageServer, silence_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[Completions]:
    """The way of completions."""
    server = _server(fake, lambda method, params: None)
    try:
        yield Completions("helper", server, silence_seconds=silence_seconds)
    finally:
        await server.aclose()


def _server(fake: FakeLanguageServer, on_notification: Callable[[str, Any], None]) -> LanguageServer:
    config = ProviderConfig(kind="copilot-language-server", command=fake.command)
    return LanguageServer(
        "helper",
        config,
        Values("helper", config),
        who=lambda: None,
        on_notification=on_notification,
        on_request=requests.answer,
    )


def asked(*said: str | Message, **more: Any) -> ChatRequest:
    """A chat of the user's and the assistant's words in turn."""
    messages = [
        each if isinstance(each, Message) else (Message.assistant if index % 2 else Message.user)(each)
        for index, each in enumerate(said)
    ]
    return ChatRequest(**{"messages": messages, "model": "gpt-4.1", **more})


async def events_of(way: Conversations | Completions, request: ChatRequest) -> list[StreamEvent]:
    """All events of a chat that ends well, by the laws."""
    async with aclosing(way.stream(request)) as stream:
        events = [event async for event in stream]
    assert_laws(events)
    return events


async def answer_of(way: Conversations | Completions, request: ChatRequest) -> Response:
    """What a chat came to."""
    fold = Fold("helper", request.model)
    for event in await events_of(way, request):
        fold.add(event)
    return fold.response()


async def failure_of(
    way: Conversations | Completions,
    request: ChatRequest,
    on_event: Callable[[StreamEvent], None] = lambda event: None,
) -> tuple[Exception, list[StreamEvent]]:
    """How a chat fails, and what had come before."""
    events: list[StreamEvent] = []

    try:
        async with aclosing(way.stream(request)) as stream:
            async for event in stream:
                events.append(event)
                on_event(event)
    except Exception as error:
        assert_laws(events, ended=False)
        return error, events
    raise AssertionError(f"the chat did not fail; it came to {events}")


def text_in(events: Iterable[StreamEvent]) -> str:
    """The text of the answer that came."""
    return "".join(event.text for event in events if isinstance(event, TextDeltaEvent))
