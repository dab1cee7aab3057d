"""Reads and writes `opaque`: the text of a JSON object whose keys belong to the dialect that wrote it.

All dialects share the key `CALL_ID`. If a provider uses one id for two tool calls of a turn, the second call
gets a different id in the conversation. `CALL_ID` then contains the provider's id, which requests use.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from jumpseat.chat import Message, Origin, ToolUseBlock
from jumpseat.wire import read_json

CALL_ID = "call_id"


def read_opaque(opaque: str | None) -> dict[str, Any]:
    """Parse an `opaque` text; return an empty object if it is not valid."""
    if opaque is None:
        return {}
    try:
        value = read_json(opaque, allow_inf_nan=True, keep_nul=True)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def write_opaque(values: Mapping[str, Any]) -> str | None:
    """Return the `opaque` text of an object; None if the object is empty."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")) if values else None


def own_id(call: ToolUseBlock, origin: Origin) -> str:
    """Return the id that the provider at `origin` uses for a call."""
    if call.origin != origin or CALL_ID not in (call.opaque or ""):
        return call.id
    own = read_opaque(call.opaque).get(CALL_ID)
    return own if isinstance(own, str) else call.id


def own_ids(messages: Iterable[Message], origin: Origin) -> dict[str, str]:
    """Map the id of every call in a conversation to the id that the provider at `origin` uses."""
    return {
        block.id: own_id(block, origin)
        for message in messages
        for block in message.content
        if isinstance(block, ToolUseBlock)
    }
