"""Redacts a client's secrets in the data that is stored for the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from jumpseat.chat import ContentBlock, Message
from jumpseat.system.secrets import KnownSecrets


def redact_form(value: Any, secrets: KnownSecrets) -> Any:
    """Return a JSON value with redacted texts and keys."""
    if isinstance(value, str):
        return secrets.redact(value)
    # Use loops, because a comprehension would take two stack frames for each level of a deep value.
    if isinstance(value, Mapping):
        pairs = {}
        for key, item in value.items():
            pairs[secrets.redact(key) if isinstance(key, str) else key] = redact_form(item, secrets)
        return pairs
    if isinstance(value, list | tuple):
        items = []
        for item in value:
            items.append(redact_form(item, secrets))  # noqa: PERF401 - for the stack
        return items
    return value


def redact_message(message: Message, secrets: KnownSecrets) -> Message:
    """Return the message as it is stored; the same object if it does not contain a secret."""
    content = tuple(_redact_block(block, secrets) for block in message.content)
    if all(after is before for after, before in zip(content, message.content, strict=True)):
        return message
    return Message(message.role, content)


def _redact_block(block: ContentBlock, secrets: KnownSecrets) -> ContentBlock:
    changed: dict[str, Any] = {}
    for field in fields(block):
        value = getattr(block, field.name)
        if isinstance(value, str | Mapping):
            after = redact_form(value, secrets)
            if after != value:
                changed[field.name] = after
    return replace(block, **changed) if changed else block
