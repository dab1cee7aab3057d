"""Checks whether a conversation is so long that iterating over it would delay the event loop."""

from __future__ import annotations

from collections.abc import Sequence

from jumpseat.chat.blocks import ContextBlock, DocumentBlock, ImageBlock, Message, TextBlock, ToolResultBlock

LONG_MESSAGES = 500
"""The number of messages, or of blocks, above which a conversation is long.

A turn needs a few milliseconds to iterate over that many.
"""

LONG_CHARACTERS = 2 * 1024 * 1024
"""The number of characters above which a conversation is long.

Switching to another thread for a long conversation takes 0.5 ms. Iterating over plain text is fast, so this
limit is high.
"""


def is_long(messages: Sequence[Message]) -> bool:
    """Whether a conversation exceeds a limit. The check is fast even for long conversations."""
    if len(messages) > LONG_MESSAGES:
        return True
    blocks = sum(len(message.content) for message in messages)
    if blocks > LONG_MESSAGES:
        return True
    size = 0
    for message in messages:
        for block in message.content:
            match block:
                case TextBlock() | ContextBlock():
                    size += len(block.text)
                case ToolResultBlock():
                    size += len(block.text) + sum(len(part.source) for part in block.media)
                case ImageBlock() | DocumentBlock():
                    size += len(block.source)
                case _:
                    pass
    return size > LONG_CHARACTERS
