"""Adds cache marks to a request. The provider caches the prompt up to each mark.

Source: `tests/dialect_rows/anthropic_messages.py`; `tests/dialect_rows/copilot.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

MARK: Mapping[str, str] = {"type": "ephemeral"}

NAME = "cache_control"
COPILOT_NAME = "copilot_cache_control"

_UNMARKABLE = ("thinking", "redacted_thinking")


def mark_part(message: MutableMapping[str, Any], key: str = "content") -> None:
    """Mark the last markable part of a message or system prompt; a plain string is first converted to a part.

    Args:
        message: a message, or a body with a system prompt.
        key: the member with the content, which is a text or a list of parts.
    """
    content = message[key]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    for index in reversed(range(len(parts))):
        part = parts[index]
        if part["type"] not in _UNMARKABLE and part.get("text") != "":
            parts[index] = {**part, NAME: MARK}
            message[key] = parts
            return


def mark_last_tool(tools: MutableSequence[dict[str, Any]]) -> None:
    """Mark the last tool whose loading is not deferred; deferred tools cannot be marked."""
    for index in reversed(range(len(tools))):
        if not tools[index].get("defer_loading"):
            tools[index] = {**tools[index], NAME: MARK}
            return


def ends_of_user_turns(messages: Sequence[dict[str, Any]], roles: Sequence[str]) -> list[dict[str, Any]]:
    """Return the last message of each of the user's last two turns.

    Args:
        messages: the wire messages.
        roles: the roles of messages that belong to the user's turns.
    """
    followers = [*messages[1:], {"role": "end"}]
    ends = [
        message
        for message, follower in zip(messages, followers, strict=True)
        if message["role"] in roles and follower["role"] not in roles
    ]
    return ends[-2:]
