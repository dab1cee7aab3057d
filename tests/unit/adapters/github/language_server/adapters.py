"""Helpers for tests of the adapter over a scripted language server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jumpseat.adapters.base import Capabilities
from jumpseat.adapters.github.language_server.adapter import LanguageServerAdapter
from jumpseat.chat import ChatRequest, DoneEvent, Message, WarningEvent
from jumpseat.wire import METHOD_NOT_FOUND, RpcError
from tests.fakes.language_server import FakeLanguageServer

UNKNOWN = RpcError(METHOD_NOT_FOUND, "Method not found")
CONVERSATION_METHODS = ("conversation/create", "conversation/turn", "conversation/destroy")
CONVERSATION_CAPABILITIES = Capabilities(tool_calls=False, json_mode=False)
COMPLETION_CAPABILITIES = Capabilities(
    streaming=False, tool_calls=False, json_mode=False, vision=False, thinking=False
)
PANEL = "textDocument/copilotPanelCompletion"

Make = Callable[..., LanguageServerAdapter]
"""A function that creates an adapter from the keys of its table."""


def ask(text: str = "Hi", **more: Any) -> ChatRequest:
    return ChatRequest(**{"messages": [Message.user(text)], "model": "gpt-4.1", **more})


async def collect_events(adapter: LanguageServerAdapter, request: ChatRequest) -> list[Any]:
    return [event async for event in adapter.stream(request)]


async def collect_warnings(adapter: LanguageServerAdapter, request: ChatRequest) -> list[tuple[str, str]]:
    """Return the code and the message of each warning of a chat that succeeds."""
    found = await collect_events(adapter, request)
    assert isinstance(found[-1], DoneEvent)
    return [(event.code, event.message) for event in found if isinstance(event, WarningEvent)]


def remove_conversations(fake: FakeLanguageServer) -> None:
    """Turn the fake into an older server, without the conversation methods."""
    for method in CONVERSATION_METHODS:
        fake.on(method, UNKNOWN)
