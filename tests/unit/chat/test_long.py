"""Conversations that count as long."""

from __future__ import annotations

import pytest

from jumpseat.chat import ContextBlock, ImageBlock, Message, TextBlock, ToolResultBlock
from jumpseat.chat.long import LONG_CHARACTERS, LONG_MESSAGES, is_long


@pytest.mark.parametrize(
    "messages",
    [
        [Message.user("hi")] * (LONG_MESSAGES + 1),
        [Message("user", (TextBlock("hi"),) * (LONG_MESSAGES + 1))],
        [Message.user("x" * LONG_CHARACTERS), Message.assistant("x")],
        [Message("user", (ContextBlock("x" * (LONG_CHARACTERS + 1)),))],
        [Message("user", (ToolResultBlock("1", "x" * (LONG_CHARACTERS + 1)),))],
        [Message("user", (ImageBlock("x" * (LONG_CHARACTERS + 1)),))],
    ],
    ids=["messages", "blocks", "text", "context", "result", "image"],
)
def test_a_conversation_above_any_limit_is_long(messages: list[Message]) -> None:
    assert is_long(messages)


def test_an_ordinary_conversation_is_not_long() -> None:
    assert not is_long([Message.user("x" * 400)] * LONG_MESSAGES)
