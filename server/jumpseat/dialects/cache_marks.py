"""Adds the marks to a request up to which a provider caches the prompt.

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
    """Mark the last part of a message that can be marked; a plain text is first converted to a part.

    Args:
        message: a message whose content is a text or a list of parts.
        key: the member with the content.
    """
    content = message[key]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    for index in reversed(range(len(parts))):
        part = parts[index]
        if part["type"] not in _UNMARKABLE and part.get("text") != "":
            parts[index] = {**part, NAME: MARK}
            message[key] = parts
            return


def mark_last(rows: MutableSequence[dict[str, Any]]) -> None:
    """Mark the last tool that can be marked, which excludes tools with deferred loading."""
    for index in reversed(range(len(rows))):
        if not rows[index].get("defer_loading"):
            rows[index] = {**rows[index], NAME: MARK}
            return


def ends_of_user_turns(messages: Sequence[dict[str, Any]], roles: Sequence[str]) -> list[dict[str, Any]]:
    """Return the last message of each of the last two runs of messages with these roles."""
    followers = [*messages[1:], {"role": "end"}]
    ends = [
        message
        for message, follower in zip(messages, followers, strict=True)
        if message["role"] in roles and follower["role"] not in roles
    ]
    return ends[-2:]
