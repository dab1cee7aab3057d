"""Short constructors of messages and blocks for the tests in this folder."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import ContentBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from jumpseat.engine.tool_calls import UNANSWERED_CALL

TEXT = TextBlock("hi")


def call(call_id: str, **more: Any) -> ToolUseBlock:
    """Return a call with this id."""
    return ToolUseBlock(call_id, "grep", {}, "{}", **more)


def result(call_id: str, content: str = "found", **more: Any) -> ToolResultBlock:
    """Return the result of the call with this id."""
    return ToolResultBlock(call_id, content, **more)


def make_missing_result(call_id: str) -> ToolResultBlock:
    """Return the error result that the daemon adds for a call without a result."""
    return ToolResultBlock(call_id, UNANSWERED_CALL, is_error=True)


def user(*blocks: ContentBlock) -> Message:
    """Return a user message."""
    return Message("user", blocks)


def assistant(*blocks: ContentBlock) -> Message:
    """Return an assistant message."""
    return Message("assistant", blocks)
