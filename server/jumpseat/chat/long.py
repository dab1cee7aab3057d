"""Whether a conversation is so long that a pass over it delays other work of the event loop."""

from __future__ import annotations

from collections.abc import Sequence

from jumpseat.chat.blocks import ContextBlock, DocumentBlock, ImageBlock, Message, TextBlock, ToolResultBlock

LONG_MESSAGES = 500
"""Messages, or blocks in fewer messages: all passes of a turn over as many take a few milliseconds."""

LONG_CHARACTERS = 2 * 1024 * 1024
"""Characters in fewer messages: text alone costs little, and a change of thread costs half a millisecond."""


def is_long(messages: Sequence[Message]) -> bool:
    """Whether a conversation is above a limit; takes the same short time for any conversation."""
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
