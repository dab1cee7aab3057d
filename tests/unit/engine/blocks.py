"""Short constructors of messages and blocks for the tests of this folder."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import ContentBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from jumpseat.engine.tool_calls import UNANSWERED_CALL

TEXT = TextBlock("hi")


def call(name: str, **more: Any) -> ToolUseBlock:
    """A call with this id."""
    return ToolUseBlock(name, "grep", {}, "{}", **more)


def result(name: str, content: str = "found", **more: Any) -> ToolResultBlock:
    """The result of the call with this id."""
    return ToolResultBlock(name, content, **more)


def owed(name: str) -> ToolResultBlock:
    """The result that a call without an answer gets."""
    return ToolResultBlock(name, UNANSWERED_CALL, is_error=True)


def user(*blocks: ContentBlock) -> Message:
    """A message of the user's."""
    return Message("user", blocks)


def assistant(*blocks: ContentBlock) -> Message:
    """A message of the assistant's."""
    return Message("assistant", blocks)
