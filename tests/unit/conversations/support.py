"""Conversations in a few words: `said("Hi", "Hello", "More")` is a user, an assistant and a user."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jumpseat.chat import (
    ChatError,
    ContentBlock,
    Message,
    Origin,
    Response,
    ServerError,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.conversations import BegunTurn, ConversationStore, NewTurn

HERE = Origin("fake", "m")
FAILED = ServerError("Overloaded.")


def user(*parts: str | ContentBlock) -> Message:
    """A user's message of texts and blocks."""
    return Message("user", blocks(parts))


def assistant(*parts: str | ContentBlock) -> Message:
    """An assistant's message of texts and blocks."""
    return Message("assistant", blocks(parts))


def blocks(parts: Sequence[str | ContentBlock]) -> tuple[ContentBlock, ...]:
    """Texts as blocks."""
    return tuple(TextBlock(part) if isinstance(part, str) else part for part in parts)


def said(*texts: str) -> tuple[Message, ...]:
    """Messages of one text each, the user's first."""
    return tuple((assistant if number % 2 else user)(text) for number, text in enumerate(texts))


def call(name: str = "1", **arguments: Any) -> ToolUseBlock:
    """A call of the tool `ls`."""
    return ToolUseBlock(name, "ls", arguments, json.dumps(arguments))


def result(name: str = "1", content: str = "a.py") -> ToolResultBlock:
    """The result of a call."""
    return ToolResultBlock(name, content)


def thought(text: str) -> ThinkingBlock:
    """Signed thinking."""
    return ThinkingBlock(text, "sig", origin=HERE, opaque="data")


def turn(messages: Sequence[Message], name: str = "a", **more: Any) -> NewTurn:
    """A turn of the conversation `name`."""
    return NewTurn(conversation_id=name, turn_id="t", messages=messages, provider="fake", model="m", **more)


def answered(*parts: str | ContentBlock, **more: Any) -> Response:
    """An answer."""
    return Response(provider="fake", model="m", content=blocks(parts), stop_reason="end_turn", **more)


def keep(
    store: ConversationStore,
    messages: Sequence[Message],
    *answer: str | ContentBlock,
    name: str = "a",
    error: ChatError | None = None,
) -> BegunTurn:
    """Keep a whole turn."""
    begun = store.begin(turn(messages, name))
    store.finish(begun, answered(*answer), error)
    return begun


def texts(store: ConversationStore, name: str = "a") -> list[str]:
    """The joined texts of each kept message."""
    return [
        "".join(block.text for block in message.content if isinstance(block, TextBlock))
        for message in store.get(name).messages
    ]


TURNS = 6


def write(store: ConversationStore, writer: str, name: str) -> None:
    """A client that goes on with its own conversation, and names another one for all."""
    messages = [f"question {writer} 0"]
    for number in range(TURNS):
        begun = store.begin(turn(said(*messages), name))
        answer = f"answer {writer} {number}"
        store.finish(begun, answered(answer))
        messages += [answer, f"question {writer} {number + 1}"]
    assert texts(store, begun.id) == messages[:-1]
