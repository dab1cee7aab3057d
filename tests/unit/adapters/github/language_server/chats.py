"""Run conversations and completions over a scripted language server, and collect their events."""

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
from tests.environments import here
from tests.fakes.language_server import FakeLanguageServer

CREATE, TURN, DESTROY = "conversation/create", "conversation/turn", "conversation/destroy"
MISSING = RpcError(-32601, "Method not found")

PATIENCE_SECONDS = 20.0
"""A time limit far longer than any step needs on a loaded machine."""


@asynccontextmanager
async def conversations(
    fake: FakeLanguageServer, silence_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[Conversations]:
    """Yield the conversation API, which receives the server's notifications."""
    # The server needs the handler before the API exists, and the API needs the server.
    apis: list[Conversations] = []

    def handle_notification(method: str, params: Any) -> None:
        apis[0].handle_notification(method, params)

    server = _server(fake, handle_notification)
    apis.append(Conversations("helper", server, silence_seconds=silence_seconds))
    try:
        yield apis[0]
    finally:
        await apis[0].aclose()
        await server.aclose()


@asynccontextmanager
async def completions(
    fake: FakeLanguageServer, silence_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[Completions]:
    """Yield the completion API."""
    server = _server(fake, lambda method, params: None)
    try:
        yield Completions("helper", server, silence_seconds=silence_seconds)
    finally:
        await server.aclose()


def _server(fake: FakeLanguageServer, on_notification: Callable[[str, Any], None]) -> LanguageServer:
    config = ProviderConfig(kind="copilot-language-server", command=fake.command).set_environment(here())
    return LanguageServer(
        "helper",
        config,
        Values("helper", config),
        client=lambda: None,
        on_notification=on_notification,
        on_request=requests.answer,
    )


def make_request(*said: str | Message, **more: Any) -> ChatRequest:
    """Return a request with the messages of the user and the assistant, alternating."""
    messages = [
        each if isinstance(each, Message) else (Message.assistant if index % 2 else Message.user)(each)
        for index, each in enumerate(said)
    ]
    return ChatRequest(**{"messages": messages, "model": "gpt-4.1", **more})


async def events_of(api: Conversations | Completions, request: ChatRequest) -> list[StreamEvent]:
    """Return all events of a chat that succeeds, and assert that they obey the rules of events."""
    async with aclosing(api.stream(request)) as stream:
        events = [event async for event in stream]
    assert_laws(events)
    return events


async def answer_of(api: Conversations | Completions, request: ChatRequest) -> Response:
    """Return the response of a chat that succeeds."""
    fold = Fold("helper", request.model)
    for event in await events_of(api, request):
        fold.add(event)
    return fold.response()


async def failure_of(
    api: Conversations | Completions,
    request: ChatRequest,
    on_event: Callable[[StreamEvent], None] = lambda event: None,
) -> tuple[Exception, list[StreamEvent]]:
    """Return the error of a chat that fails, and the events before it."""
    events: list[StreamEvent] = []

    try:
        async with aclosing(api.stream(request)) as stream:
            async for event in stream:
                events.append(event)
                on_event(event)
    except Exception as error:
        assert_laws(events, ended=False)
        return error, events
    raise AssertionError(f"the chat did not fail; its events are {events}")


def text_in(events: Iterable[StreamEvent]) -> str:
    """Return the joined text of the events."""
    return "".join(event.text for event in events if isinstance(event, TextDeltaEvent))
