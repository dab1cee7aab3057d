"""Puts the client's commands into the texts that are sent to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.providers import use_client_commands

_TEXTS = ("message", "hint")


def insert_commands(value: Any, commands: Mapping[str, str] | None) -> Any:
    """Insert the client's commands into every `message` and `hint` of an object for the wire.

    Args:
        value: a JSON value with the daemon's own texts; it must not contain parts of a conversation.
        commands: see `use_client_commands`.
    """
    if commands is None:
        return value
    if isinstance(value, list):
        return [insert_commands(each, commands) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: use_client_commands(each, commands)
        if key in _TEXTS and isinstance(each, str)
        else insert_commands(each, commands)
        for key, each in value.items()
    }
