"""Stores the data of output items in blocks, and builds the input items that replay these blocks.

This module owns the keys of `opaque`, which the decoder writes and the encoder reads. Source:
`tests/dialect_rows/responses.py`.

- `text`: the item's `id` and `phase`, and `refusal: true` for a refusal. Texts with the same `id` and `phase`
  are parts of one item.
- `thinking`: the item's `id`, its `summary` unless that equals the block's text, and other members, such as
  OpenRouter's `format`. The block's `signature` is the encrypted content. If the reasoning is not encrypted
  but signed, the block's `signature` is the item's `signature`. `opaque` then also contains that signature,
  and the item's `content` unless that equals the block's text.
- `tool_use`: all members except `call_id`, `name`, `arguments`, `input`, `status`, and a `type` that equals
  `function_call`.
- `image`: the item that generated the image, without its `result`, which is the image itself.
- `other`: the complete item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jumpseat.chat import ContentBlock, ImageBlock, OtherBlock, ThinkingBlock
from jumpseat.dialects.generated import generated_image
from jumpseat.dialects.loose_values import mappings_in, text_in
from jumpseat.dialects.opaque import CALL_ID, read_opaque, write_opaque

_REASONING_FIELDS = frozenset({"type", "summary", "content", "encrypted_content", "status"})
_CALL_FIELDS = frozenset({"call_id", "name", "arguments", "input", "status"})

PART_SEPARATOR = "\n\n"
"""The separator between the parts of a summary, each of which is a paragraph with a heading."""


def text_opaque(item: Mapping[str, Any], *, refusal: bool) -> str | None:
    """Return the `opaque` of a text in a message item."""
    kept = {name: item[name] for name in ("id", "phase") if isinstance(item.get(name), str) and item[name]}
    return write_opaque({**kept, "refusal": True} if refusal else kept)


def thinking_signature(item: Mapping[str, Any]) -> str:
    """Return the text that makes the API accept a replayed reasoning item; empty if replay is impossible."""
    # Compatible servers send an empty `encrypted_content`, which counts as absent.
    return text_in(item.get("encrypted_content")) or text_in(item.get("signature"))


def thinking_opaque(item: Mapping[str, Any], thinking: str) -> str | None:
    """Return the `opaque` of a thinking block, for a reasoning item with a signature.

    Args:
        item: the item's trusted fields.
        thinking: the block's text.
    """
    kept = {
        name: value
        for name, value in item.items()
        if name not in _REASONING_FIELDS and value not in (None, "")
    }
    if (summary := _texts(item.get("summary"))) != _texts_of(thinking):
        kept["summary"] = summary
    is_plain = kept.get("signature") == thinking_signature(item)
    if is_plain and (content := _texts(item.get("content"))) != _texts_of(thinking):
        kept["content"] = content
    return write_opaque(kept)


def call_opaque(item: Mapping[str, Any]) -> str | None:
    """Return the `opaque` of a tool call, including members that later versions of the API add."""
    kept = {name: value for name, value in item.items() if name not in _CALL_FIELDS and value is not None}
    if kept.get("type") == "function_call":
        del kept["type"]
    return write_opaque(kept)


def reasoning_item(thinking: str, signature: str, opaque: str | None) -> dict[str, Any]:
    """Return the input item for a thinking block."""
    kept = read_opaque(opaque)
    summary = kept.pop("summary", _texts_of(thinking))
    content = kept.pop("content", _texts_of(thinking))
    # The API requires `summary`, even if it is empty.
    item = {"type": "reasoning", **kept, "summary": _parts("summary_text", summary)}
    if kept.get("signature") == signature:
        return {**item, "content": _parts("reasoning_text", content)}
    # The API rejects a combination of encrypted and plain content.
    return {**item, "encrypted_content": signature}


def call_item(call_id: str, name: str, raw: str, opaque: str | None) -> dict[str, Any]:
    """Return the input item for a tool call, without an id, which would tie it to a reasoning item."""
    kept = {key: value for key, value in read_opaque(opaque).items() if key not in ("id", CALL_ID)}
    kind = kept.pop("type", "function_call")
    if kind == "custom_tool_call":
        return {"type": kind, "call_id": call_id, "name": name, "input": raw, **kept}
    arguments = "{}" if raw.strip() in ("", "null") else raw
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **kept}


def without_id(block: ContentBlock) -> ContentBlock:
    """Return a thinking block without its item's id, and any other block unchanged."""
    known = read_opaque(block.opaque)
    if not isinstance(block, ThinkingBlock) or "id" not in known:
        return block
    return replace(block, opaque=write_opaque({name: known[name] for name in known if name != "id"}))


def generated_image_of(item: Mapping[str, Any]) -> ImageBlock | OtherBlock | None:
    """Return the block for an item that generated an image; None if the item has no image."""
    result = text_in(item.get("result"))
    if item.get("type") != "image_generation_call" or not result:
        return None
    return generated_image(result, write_opaque({k: v for k, v in item.items() if k != "result"}))


def image_item(block: ImageBlock) -> dict[str, Any] | None:
    """Return the input item for a generated image; None if the image's `opaque` does not contain the item."""
    item = read_opaque(block.opaque)
    return {**item, "result": block.source} if item else None


def is_custom_call(opaque: str | None) -> bool:
    """Whether the input of a call is free text. The result's item then also has a different type."""
    return read_opaque(opaque).get("type") == "custom_tool_call"


def _texts(parts: Any) -> list[str]:
    return [text_in(part.get("text")) for part in mappings_in(parts)]


def _texts_of(thinking: str) -> list[str]:
    return [thinking] if thinking else []


def _parts(kind: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"type": kind, "text": text} for text in texts]
