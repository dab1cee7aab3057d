"""Short constructors of messages and blocks for the tests in this folder."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import ContentBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from jumpseat.engine.tool_calls import UNANSWERED_CALL

TEXT = TextBlock("hi")


def call(name: str, **more: Any) -> ToolUseBlock:
    """Return a call with this id."""
    return ToolUseBlock(name, "grep", {}, "{}", **more)


def result(name: str, content: str = "found", **more: Any) -> ToolResultBlock:
    """Return the result of the call with this id."""
    return ToolResultBlock(name, content, **more)


def make_missing_result(name: str) -> ToolResultBlock:
    """Return the result that is added to a call without one."""
    return ToolResultBlock(name, UNANSWERED_CALL, is_error=True)


def user(*blocks: ContentBlock) -> Message:
    """Return a user message."""
    return Message("user", blocks)


def assistant(*blocks: ContentBlock) -> Message:
    """Return an assistant message."""
    return Message("assistant", blocks)
