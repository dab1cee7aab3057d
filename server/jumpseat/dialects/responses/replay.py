"""What has to travel with a block of this dialect so that its output item can be sent back.

Owns the keys of `opaque`; the decoder beside it fills it, the encoder reads it.
Source: the openai-responses reference, "Round-trip rules".

- `text`: `phase`, and `refusal: true` for a refusal; the item's `id` tells which texts are parts of one item.
- `thinking`: the item's `id`, and `summary`, its texts, where the block's own text does not give them. The
  encrypted content is the block's `signature`; of open reasoning that is signed the signature is, which then
  stands in `opaque` too, with the texts of its `content` where the block's own text does not give them. What
  else the item holds is kept as it came (OpenRouter's `format`).
- `tool_use`: whatever the item holds besides id, name and arguments; `type` where it is no `function_call`.
- `other`: the whole item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jumpseat.chat import ContentBlock, ThinkingBlock
from jumpseat.dialects.loose_values import mappings_in, text_in
from jumpseat.dialects.opaque import CALL_ID, read_opaque, write_opaque

_REASONING_FIELDS = frozenset({"type", "summary", "content", "encrypted_content", "status"})
_CALL_FIELDS = frozenset({"call_id", "name", "arguments", "input", "status"})

PART_SEPARATOR = "\n\n"
"""Between the parts of a summary: each is a paragraph with a heading of its own."""


def text_opaque(item: Mapping[str, Any], *, refusal: bool) -> str | None:
    """For a text of a message item."""
    kept = {name: item[name] for name in ("id", "phase") if isinstance(item.get(name), str) and item[name]}
    return write_opaque({**kept, "refusal": True} if refusal else kept)


def thinking_signature(item: Mapping[str, Any]) -> str:
    """What a reasoning item is accepted by when it goes back; empty where it cannot go back."""
    return text_in(item.get("encrypted_content")) or text_in(item.get("signature"))


def thinking_opaque(item: Mapping[str, Any], thinking: str) -> str | None:
    """For the thinking of a reasoning item that has a signature.

    Args:
        item: the item, without an id that cannot be relied on.
        thinking: the block's text.
    """
    kept = {
        name: value
        for name, value in item.items()
        if name not in _REASONING_FIELDS and value not in (None, "")
    }
    if (summary := _texts(item.get("summary"))) != _texts_of(thinking):
        kept["summary"] = summary
    is_open = kept.get("signature") == thinking_signature(item)
    if is_open and (content := _texts(item.get("content"))) != _texts_of(thinking):
        kept["content"] = content
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
    summary = kept.pop("summary", _texts_of(thinking))
    content = kept.pop("content", _texts_of(thinking))
    # The summary is required, empty or not.
    item = {"type": "reasoning", **kept, "summary": _parts("summary_text", summary)}
    if kept.get("signature") == signature:
        return {**item, "content": _parts("reasoning_text", content)}
    # Beside encrypted content the open one is refused.
    return {**item, "encrypted_content": signature}


def call_item(call_id: str, name: str, raw: str, opaque: str | None) -> dict[str, Any]:
    """The input item for a tool call; without its own id, which would bind it to a reasoning item."""
    kept = {key: value for key, value in read_opaque(opaque).items() if key not in ("id", CALL_ID)}
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


def _texts(parts: Any) -> list[str]:
    return [text_in(part.get("text")) for part in mappings_in(parts)]


def _texts_of(thinking: str) -> list[str]:
    return [thinking] if thinking else []


def _parts(kind: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"type": kind, "text": text} for text in texts]
