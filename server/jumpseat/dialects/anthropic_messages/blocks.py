"""Encodes the blocks of assistant messages, including the provider's opaque data.

This module owns the keys of `opaque` in each type of block; the decoder writes them, the encoder reads them:

- `text`: `citations`, as received.
- `tool_use`: all members, such as `caller`, except `type`, `id`, `name` and `input`.
- `other`: the complete block, with its deltas joined.

Source: `ContentBlockParam` of Anthropic's API reference; `tests/dialect_rows/anthropic_messages.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    WarningEvent,
)
from jumpseat.dialects.arguments import parse_arguments
from jumpseat.dialects.opaque import CALL_ID, own_id, read_opaque

_ID = re.compile(r"[^a-zA-Z0-9_-]")


def encode_tool_id(call_id: str) -> str:
    """Replace the characters in a call's id that other providers use and this API rejects."""
    return _ID.sub("_", call_id)


def encode_assistant_part(block: ContentBlock, origin: Origin) -> dict[str, Any] | None:
    """Encode a block of an assistant message; return None if it is left out.

    Args:
        block: the block.
        origin: the destination of the request; data of another provider or model is left out.
    """
    ours = block.origin is None or block.origin == origin
    match block:
        case TextBlock():
            if not block.text.strip():
                return None  # The API rejects a text block that is only whitespace.
            return {"type": "text", "text": block.text, **(read_opaque(block.opaque) if ours else {})}
        case ToolUseBlock():
            extra = read_opaque(block.opaque) if ours else {}
            extra.pop(CALL_ID, None)
            call_id = encode_tool_id(own_id(block, origin))
            return {
                "type": "tool_use",
                "id": call_id,
                "name": block.name,
                "input": _encode_input(block),
                **extra,
            }
        case ThinkingBlock():
            # Compatible endpoints do not sign thinking. So thinking without a signature is replayed too, but
            # only if its origin is known.
            if not (ours and (block.signature is not None or block.origin is not None)):
                return None
            return {"type": "thinking", "thinking": block.thinking, "signature": block.signature or ""}
        case RedactedThinkingBlock():
            return {"type": "redacted_thinking", "data": block.data} if ours else None
        case OtherBlock():
            whole = read_opaque(block.opaque) if ours else {}
            return whole if isinstance(whole.get("type"), str) else None
        case ImageBlock() | DocumentBlock() | ContextBlock() | ToolResultBlock():
            return None  # These occur only in a user's message.
        case _:
            assert_never(block)


def drop_cut_off_calls(
    messages: Sequence[dict[str, Any]], warnings: list[WarningEvent]
) -> list[dict[str, Any]]:
    """Remove unanswered calls of the provider's own tools from the wire messages.

    A call is unanswered if the answer was cancelled before the call's result arrived.
    """
    answered = {
        part.get("tool_use_id")
        for message in messages
        for part in message["content"]
        if part["type"].endswith("_tool_result")
    }
    result: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        parts = message["content"]
        cut_off = [
            part for part in parts if part["type"].endswith("_tool_use") and part.get("id") not in answered
        ]
        # After `pause_turn`, or while the client runs its tools, the API can still produce the result.
        is_pending = number == len(messages) - 1 or any(part["type"] == "tool_use" for part in parts)
        if cut_off and not is_pending:  # The API would reject these calls.
            # A signature covers the calls of its turn. Without the calls, the thinking would be rejected.
            thinking = ("thinking", "redacted_thinking")
            parts = [part for part in parts if part not in cut_off and part["type"] not in thinking]
            message_text = f"Unanswered calls of the provider's own tools were left out ({len(cut_off)})."
            warnings.append(WarningEvent("unfinished_dropped", message_text))
        if parts:
            result.append({**message, "content": parts})
    return result


def _encode_input(block: ToolUseBlock) -> dict[str, Any]:
    """Return the arguments as an object; malformed text is wrapped in one."""
    arguments, _ = parse_arguments(block.raw)
    if arguments is not None and block.raw.strip() not in ("", "null"):
        return arguments
    if block.arguments is not None:
        return dict(block.arguments)
    return {"INVALID_JSON": block.raw} if arguments is None else arguments
