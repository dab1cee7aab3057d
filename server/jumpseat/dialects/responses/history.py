"""Encodes a conversation as input items of the Responses dialect.

Source: POST /responses in OpenAI's API reference, "Input item list", and `tests/dialect_rows/responses.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, assert_never

from jumpseat.chat import (
    ChatRequest,
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.context_text import render_context
from jumpseat.dialects.opaque import own_id, own_ids, read_opaque
from jumpseat.dialects.responses.replay import (
    call_item,
    image_item,
    is_custom_call,
    reasoning_item,
    without_id,
)
from jumpseat.dialects.user_parts import document_name, document_url, image_url, result_text

_OUTPUTS = ("function_call_output", "custom_tool_call_output")

MAX_CALL_ID = 64
"""The maximum length of a `call_id` in characters; the ids of other providers may be longer."""


def input_items(messages: Sequence[Message], origin: Origin) -> list[dict[str, Any]]:
    """Return the input items for a conversation.

    Blocks that the dialect does not support, and opaque data of another origin, are left out.

    Args:
        messages: the conversation, oldest first.
        origin: the provider and model of the request.
    """
    items: list[dict[str, Any]] = []
    ids = own_ids(messages, origin)
    custom: set[str] = set()
    for role, group in groupby(messages, lambda message: message.role):
        run = list(group)
        if role == "assistant":
            items += _encode_assistant(run, origin)
            blocks = (block for message in run for block in message.content)
            custom |= {
                b.id for b in blocks if isinstance(b, ToolUseBlock) and is_custom_call(_own_opaque(b, origin))
            }
        else:
            items += _encode_user(run, custom, ids)
    return items


def without_encrypted_content(request: ChatRequest) -> ChatRequest | None:
    """Return the request without encrypted reasoning and the items that depend on it; None if unchanged.

    Only the endpoint that created encrypted reasoning can read it.
    """
    messages = [
        Message(message.role, tuple(block for block in message.content if not _is_bound(block)))
        for message in request.messages
    ]
    return None if messages == list(request.messages) else replace(request, messages=messages)


def without_item_ids(request: ChatRequest) -> ChatRequest | None:
    """Return the request without the ids of reasoning items; None if unchanged."""
    # The ids of some gateways are valid only on the connection on which they were issued.
    messages = [
        Message(message.role, tuple(without_id(block) for block in message.content))
        for message in request.messages
    ]
    return None if messages == list(request.messages) else replace(request, messages=messages)


def without_unfollowed(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items without reasoning at the end of an answer, because some endpoints reject that."""
    kept: list[dict[str, Any]] = []
    is_followed = False
    for item in reversed(items):
        if item.get("role") == "user" or item.get("type") in _OUTPUTS:
            is_followed = False
        elif item.get("type") != "reasoning":
            is_followed = True
        elif not is_followed:
            continue
        kept.append(item)
    return kept[::-1]


def _is_bound(block: ContentBlock) -> bool:
    """Whether a block is accepted only by the endpoint that created it."""
    match block:
        case ThinkingBlock():
            return block.signature is not None
        case OtherBlock() | ImageBlock():
            # The item of a hosted tool belongs to a reasoning item, and is rejected without that.
            return block.opaque is not None
        case TextBlock() | DocumentBlock() | ContextBlock() | ToolUseBlock() | ToolResultBlock():
            return False
        case RedactedThinkingBlock():
            return False  # This dialect does not have such blocks.
        case _:
            assert_never(block)


def shorten_id(full_id: str) -> str:
    """Return the id, hashed if it is longer than the dialect accepts."""
    if len(full_id) <= MAX_CALL_ID:
        return full_id
    return f"call_{hashlib.sha256(full_id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _own_opaque(block: ContentBlock, origin: Origin) -> str | None:
    return block.opaque if block.origin == origin else None


def _encode_user(
    run: Sequence[Message], custom: set[str], ids: Mapping[str, str]
) -> Iterable[dict[str, Any]]:
    # Tool results must follow their calls directly.
    blocks = [block for message in run for block in message.content]
    for block in blocks:
        if isinstance(block, ToolResultBlock):
            kind = "custom_tool_call_output" if block.tool_use_id in custom else "function_call_output"
            call_id = shorten_id(ids.get(block.tool_use_id, block.tool_use_id))
            yield {"type": kind, "call_id": call_id, "output": _encode_output(block)}
    parts = [part for block in blocks if (part := _encode_part(block)) is not None and part.get("text") != ""]
    if len(parts) > 1 or any(part["type"] != "input_text" for part in parts):
        yield {"role": "user", "content": parts}
    elif parts or not any(isinstance(block, ToolResultBlock) for block in blocks):
        # Send a plain string if possible, because every compatible server accepts it.
        yield {"role": "user", "content": parts[0]["text"] if parts else ""}


def _encode_output(block: ToolResultBlock) -> str | list[dict[str, Any]]:
    if isinstance(block.content, str):
        return result_text(block)
    parts = [
        part for each in block.content if (part := _encode_part(each)) is not None and part.get("text") != ""
    ]
    return [{"type": "input_text", "text": "Error:"}, *parts] if block.is_error else parts


def _encode_part(block: ContentBlock) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            return {"type": "input_text", "text": block.text}
        case ContextBlock():
            return {"type": "input_text", "text": render_context(block)}
        case ImageBlock():
            return {"type": "input_image", "image_url": image_url(block), "detail": "auto"}
        case DocumentBlock():
            if block.source.startswith("https:"):
                return {"type": "input_file", "file_url": block.source}
            file = {"filename": document_name(block), "file_data": document_url(block)}
            return {"type": "input_file", **file}
        case ToolResultBlock():
            return None  # A result becomes a separate item.
        case ToolUseBlock() | ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
            return None  # These occur only in an assistant's message.
        case _:
            assert_never(block)


def _encode_assistant(run: Sequence[Message], origin: Origin) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for message in run:
        # `previous` identifies the message item of the preceding text, if any.
        previous: tuple[Any, ...] | None = None
        for block in message.content:
            opaque = _own_opaque(block, origin)
            current: tuple[Any, ...] | None = None
            match block:
                case TextBlock():
                    if not block.text:
                        continue
                    known = read_opaque(opaque)
                    current = (known.get("id"), known.get("phase"))
                    if current == previous:
                        items[-1]["content"].append(_encode_output_part(block.text, known))
                    else:
                        items.append(_encode_message(block.text, known))
                case ThinkingBlock():
                    if block.origin != origin or not block.signature:
                        continue
                    items.append(reasoning_item(block.thinking, block.signature, opaque))
                case ToolUseBlock():
                    call_id = shorten_id(own_id(block, origin))
                    items.append(call_item(call_id, block.name, block.raw, opaque))
                case OtherBlock():
                    item = read_opaque(opaque)
                    if not item:
                        continue
                    items.append(item)
                case ImageBlock():
                    if image := image_item(block):
                        items.append(image)
                case RedactedThinkingBlock():
                    continue  # The dialect does not support it.
                case DocumentBlock() | ContextBlock() | ToolResultBlock():
                    continue  # These occur only in a user's message.
                case _:
                    assert_never(block)
            previous = current
    return items


def _encode_message(text: str, known: dict[str, Any]) -> dict[str, Any]:
    # Omit the item's id: with it, the API would require the preceding reasoning, which may be missing.
    item: dict[str, Any] = {"type": "message", "role": "assistant", "status": "completed"}
    if isinstance(known.get("phase"), str):
        item["phase"] = known["phase"]
    return {**item, "content": [_encode_output_part(text, known)]}


def _encode_output_part(text: str, known: dict[str, Any]) -> dict[str, Any]:
    if known.get("refusal"):
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": []}
