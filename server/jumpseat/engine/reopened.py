"""A conversation that was read from a text, with what the text could not hold.

A text has no signatures, no `opaque`, no origins. Those of an answer that nobody has edited come back from
the memory of this connection; of an edited one nothing does, not even of its unedited blocks. Above it is
`rpc`; below it `memory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
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


def with_what_is_remembered(messages: Sequence[Message], memory: BlockMemory) -> tuple[Message, ...]:
    """The messages, one for one, each unedited answer of ours as it was given."""
    # The memory knows an answer by its words and calls; blocks that a text holds only in part confuse it.
    known_by = [
        Message(each.role, tuple(filter(_is_kept_whole, each.content))) if each.role == "assistant" else each
        for each in messages
    ]
    recalled = memory.restored(known_by)
    return tuple(
        ours if ours is not asked and _shown(ours) == _shown(read) else read
        for read, asked, ours in zip(messages, known_by, recalled, strict=True)
    )


def _is_kept_whole(block: ContentBlock) -> bool:
    return isinstance(block, TextBlock | ToolUseBlock)


def _shown(message: Message) -> list[tuple[Any, ...]]:
    """What a person can edit of a message; white space at the ends of lines is what editors change."""
    shown: list[tuple[Any, ...]] = []
    for block in message.content:
        match block:
            case TextBlock():
                shown.append((block.type, _words(block.text)))
            case ThinkingBlock():
                shown.append((block.type, _words(block.thinking)))
            case ToolUseBlock():
                shown.append((block.type, block.id, block.name, block.raw, block.error))
            case RedactedThinkingBlock():
                shown.append((block.type, block.data))
            case OtherBlock():
                shown.append((block.type, block.kind, block.text))
            case ImageBlock() | ContextBlock() | ToolResultBlock():
                shown.append((block.type, repr(block)))
            case _:
                assert_never(block)
    return shown


def _words(text: str) -> str:
    return "\n".join([line.rstrip() for line in text.split("\n")]).strip()
