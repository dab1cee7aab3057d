"""The form of `opaque`: the text of a JSON object, whose keys belong to the dialect that made it.

One key is common to all dialects: the provider's own id of a tool call, where the conversation has another
one, because the provider gave it twice. It goes back in the place of ours. Above it are the dialects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pydantic_core

from jumpseat.chat import Message, Origin, ToolUseBlock

CALL_ID = "call_id"


def read_opaque(opaque: str | None) -> dict[str, Any]:
    """The object inside an `opaque` text; empty where there is none."""
    if opaque is None:
        return {}
    try:
        value = pydantic_core.from_json(opaque)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def write_opaque(values: Mapping[str, Any]) -> str | None:
    """The `opaque` text for an object; None where there is nothing in it."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")) if values else None


def own_id(call: ToolUseBlock, origin: Origin) -> str:
    """The id of a call as the provider that is asked knows it."""
    if call.origin != origin or CALL_ID not in (call.opaque or ""):
        return call.id
    own = read_opaque(call.opaque).get(CALL_ID)
    return own if isinstance(own, str) else call.id


def own_ids(messages: Iterable[Message], origin: Origin) -> dict[str, str]:
    """For the ids of all calls in a conversation, those by which the provider that is asked knows them."""
    return {
        block.id: own_id(block, origin)
        for message in messages
        for block in message.content
        if isinstance(block, ToolUseBlock)
    }
