"""The initiator of a request, and both forms of tools."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.chat import (
    DEFAULT_MAX_TOKENS,
    ChatRequest,
    Message,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    as_tool_definitions,
)

RESULT = Message("user", (ToolResultBlock("c1", "42"), TextBlock("and now?")))


@pytest.mark.parametrize(
    ("last", "said", "expected"),
    [
        (Message.user("hi"), None, "user"),
        (RESULT, None, "agent"),
        (Message.assistant("hi"), None, "agent"),
        (Message.user("hi"), "agent", "agent"),
        (RESULT, "user", "user"),
    ],
)
def test_the_initiator_is_given_by_the_caller_else_taken_from_the_last_message(
    last: Message, said: Any, expected: str
) -> None:
    request = ChatRequest(messages=(Message.user("first"), last), model="m", initiator=said)

    assert request.effective_initiator() == expected


@pytest.mark.requirement("2:max-tokens")
def test_max_tokens_is_8192_by_default() -> None:
    assert ChatRequest(messages=(Message.user("hi"),), model="m").max_tokens == DEFAULT_MAX_TOKENS == 8192


def test_tools_are_definitions_or_mappings() -> None:
    schema = {"type": "object"}
    whole = {"name": "b", "description": "finds", "parameters": schema, "unknown": 1}

    assert as_tool_definitions([ToolDefinition("a"), whole, {"name": "c", "parameters": None}]) == (
        ToolDefinition("a"),
        ToolDefinition("b", "finds", schema),
        ToolDefinition("c", "", {}),
    )


def test_a_tool_without_a_name_is_refused() -> None:
    with pytest.raises(KeyError, match="name"):
        as_tool_definitions([{"description": "nameless"}])
