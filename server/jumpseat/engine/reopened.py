"""Restores the data that a transcript cannot contain: signatures, `opaque` and origins.

An unedited answer is completed from the connection's memory of recent answers. An edited answer is not
completed, not even in its unedited blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from jumpseat.chat import (
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.engine.memory import BlockMemory


def restore_answers(messages: Sequence[Message], memory: BlockMemory) -> tuple[Message, ...]:
    """Return the same messages, with the unedited answers completed."""
    # The memory recognises an answer by text, calls and results. Other blocks would not match, because a
    # transcript contains only parts of them.
    reduced = [_keep_text_and_tools(each) if each.role == "assistant" else each for each in messages]
    return tuple(
        restored
        if restored is not given and _list_editable_parts(restored) == _list_editable_parts(message)
        else message
        for message, given, restored in zip(messages, reduced, memory.restore(reduced), strict=True)
    )


def _keep_text_and_tools(message: Message) -> Message:
    kept = (
        block for block in message.content if isinstance(block, TextBlock | ToolUseBlock | ToolResultBlock)
    )
    return Message(message.role, tuple(kept))


def _list_editable_parts(message: Message) -> list[tuple[Any, ...]]:
    """Return the editable parts of a message. Trailing white space is ignored: editors change it."""
    shown: list[tuple[Any, ...]] = []
    for block in message.content:
        match block:
            case TextBlock():
                # A client may omit a blank text.
                if words := _strip_lines(block.text):
                    shown.append((block.type, words))
            case ThinkingBlock():
                shown.append((block.type, _strip_lines(block.thinking)))
            case ToolUseBlock():
                shown.append((block.type, block.id, block.name, block.raw, block.error))
            case RedactedThinkingBlock():
                shown.append((block.type, block.data))
            case OtherBlock():
                shown.append((block.type, block.kind, block.text))
            case ImageBlock():
                shown.append((block.type, block.source, block.media_type))
            case ToolResultBlock():
                shown.append((block.type, block.tool_use_id, block.content, bool(block.is_error)))
            case DocumentBlock() | ContextBlock():
                shown.append((block.type, repr(block)))
            case _:
                assert_never(block)
    return shown


def _strip_lines(text: str) -> str:
    return "\n".join([line.rstrip() for line in text.split("\n")]).strip()
