"""What has to travel with a block of this dialect so that its output item can be sent back.

Owns the form of `opaque`, which is always a JSON object; the decoder beside it fills it, the encoder reads
it. Source: the openai-responses reference, "Round-trip rules".

- `text`: `phase`, and `refusal: true` for a refusal; the item's `id` tells which texts are parts of one item.
- `thinking`: the item's `id`, and `summary`, its texts, where the block's own text does not give them. The
  encrypted content is the block's `signature`.
- `tool_use`: whatever the item holds besides id, name and arguments; `type` where it is no `function_call`.
- `other`: the whole item.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pydantic_core

from jumpseat.chat import ContentBlock, ThinkingBlock

_CALL_FIELDS = frozenset({"call_id", "name", "arguments", "input", "status"})

PART_SEPARATOR = "\n\n"
"""Between the parts of a summary: each is a paragraph with a heading of its own."""


def read_opaque(opaque: str | None) -> dict[str, Any]:
    """The object inside an `opaque` text; empty where it is not of this dialect."""
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


def text_opaque(item: Mapping[str, Any], *, refusal: bool) -> str | None:
    """For a text of a message item."""
    kept = {name: item[name] for name in ("id", "phase") if isinstance(item.get(name), str) and item[name]}
    return write_opaque({**kept, "refusal": True} if refusal else kept)


def thinking_opaque(item_id: str, summary: Sequence[str], thinking: str) -> str | None:
    """For the thinking of a reasoning item.

    Args:
        item_id: the item's id; empty where it cannot be relied on.
        summary: the texts of the item's summary.
        thinking: the block's text.
    """
    kept: dict[str, Any] = {"id": item_id} if item_id else {}
    if list(summary) != _summary_of(thinking):
        kept["summary"] = list(summary)
    return write_opaque(kept)


def call_opaque(item: Mapping[str, Any]) -> str | None:
    """For a tool call: what later versions of the API add to it goes back as it came."""
    kept = {name: value for name, value in item.items() if name not in _CALL_FIELDS and value is not None}
    if kept.get("type") == "function_call":
        del kept["type"]
    return write_opaque(kept)


def reasoning_item(thinking: str, signature: str, opaque: str | None) -> dict[str, Any]:
    """The input item for a thinking block."""
    kept = read_opaque(opaque)
    summary = kept.get("summary", _summary_of(thinking))
    item: dict[str, Any] = {"type": "reasoning"}
    if isinstance(kept.get("id"), str):
        item["id"] = kept["id"]
    # The summary is required, empty or not; the content of open reasoning is refused.
    item["summary"] = [{"type": "summary_text", "text": text} for text in summary]
    item["encrypted_content"] = signature
    return item


def call_item(call_id: str, name: str, raw: str, opaque: str | None) -> dict[str, Any]:
    """The input item for a tool call; without its own id, which would bind it to a reasoning item."""
    kept = {key: value for key, value in read_opaque(opaque).items() if key != "id"}
    kind = kept.pop("type", "function_call")
    if kind == "custom_tool_call":
        return {"type": kind, "call_id": call_id, "name": name, "input": raw, **kept}
    arguments = "{}" if raw.strip() in ("", "null") else raw
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **kept}


def without_id(block: ContentBlock) -> ContentBlock:
    """A thinking block without its item's id; any other block as it is."""
    known = read_opaque(block.opaque)
    if not isinstance(block, ThinkingBlock) or "id" not in known:
        return block
    return replace(block, opaque=write_opaque({name: known[name] for name in known if name != "id"}))


def is_custom_call(opaque: str | None) -> bool:
    """Whether a call's input is free text, so that its result has a type of its own."""
    return read_opaque(opaque).get("type") == "custom_tool_call"


def _summary_of(thinking: str) -> list[str]:
    return [thinking] if thinking else []
