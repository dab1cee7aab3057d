"""Short constructors of conversations. `alternate("Hi", "Hello", "More")` is a user, an assistant, a user."""

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
    """Return a user message of texts and blocks."""
    return Message("user", blocks(parts))


def assistant(*parts: str | ContentBlock) -> Message:
    """Return an assistant message of texts and blocks."""
    return Message("assistant", blocks(parts))


def blocks(parts: Sequence[str | ContentBlock]) -> tuple[ContentBlock, ...]:
    """Convert texts to blocks."""
    return tuple(TextBlock(part) if isinstance(part, str) else part for part in parts)


def alternate(*texts: str) -> tuple[Message, ...]:
    """Return messages of one text each, starting with a user message."""
    return tuple((assistant if number % 2 else user)(text) for number, text in enumerate(texts))


def call(id_: str = "1", **arguments: Any) -> ToolUseBlock:
    """Return a call of the tool `ls`."""
    return ToolUseBlock(id_, "ls", arguments, json.dumps(arguments))


def result(id_: str = "1", content: str = "a.py") -> ToolResultBlock:
    """Return the result of a call."""
    return ToolResultBlock(id_, content)


def thought(text: str) -> ThinkingBlock:
    """Return signed thinking."""
    return ThinkingBlock(text, "sig", origin=HERE, opaque="data")


def turn(messages: Sequence[Message], name: str = "a", **more: Any) -> NewTurn:
    """Return a turn of the conversation `name`."""
    return NewTurn(conversation_id=name, turn_id="t", messages=messages, provider="fake", model="m", **more)


def make_answer(*parts: str | ContentBlock, **more: Any) -> Response:
    """Return an answer."""
    return Response(provider="fake", model="m", content=blocks(parts), stop_reason="end_turn", **more)


def keep(
    store: ConversationStore,
    messages: Sequence[Message],
    *answer: str | ContentBlock,
    name: str = "a",
    error: ChatError | None = None,
) -> BegunTurn:
    """Save a whole turn."""
    begun = store.begin(turn(messages, name))
    store.finish(begun, make_answer(*answer), error)
    return begun


def texts(store: ConversationStore, name: str = "a") -> list[str]:
    """Return the joined texts of each kept message."""
    return [
        "".join(block.text for block in message.content if isinstance(block, TextBlock))
        for message in store.get(name).messages
    ]


TURNS = 6


def write(store: ConversationStore, writer: str, name: str) -> None:
    """Save several turns as one client, under a conversation id that other clients use at the same time."""
    messages = [f"question {writer} 0"]
    for number in range(TURNS):
        begun = store.begin(turn(alternate(*messages), name))
        answer = f"answer {writer} {number}"
        store.finish(begun, make_answer(answer))
        messages += [answer, f"question {writer} {number + 1}"]
    assert texts(store, begun.id) == messages[:-1]
