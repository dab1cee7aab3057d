"""Moves or replaces generated images that cannot be sent back in an assistant message.

An image that the same model generated can be sent back if it has `opaque` data. Any other generated image
is replaced by a note. If the model is known to support vision, and a user message follows, the image moves
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jumpseat.chat import ContentBlock, ImageBlock, Message, TextBlock, ToolResultBlock, WarningEvent

FOLLOWS = "(An image, which is in the next message.)"
LEFT_OUT = "(An image, which is left out here.)"


def place_images(
    messages: Sequence[Message], *, sees: bool, warnings: list[WarningEvent]
) -> Sequence[Message]:
    """Return the messages without those images of the assistant that cannot be sent back.

    Args:
        messages: arranged messages; images of another model have no `opaque` data.
        sees: whether the model is known to accept images.
        warnings: receives a warning if an image is left out.
    """
    placed = list(messages)
    lost = 0
    for index, message in enumerate(messages):
        if message.role != "assistant":
            continue
        images = [block for block in message.content if _is_replaced(block)]
        if not images:
            continue
        users = (at for at in range(index + 1, len(messages)) if messages[at].role == "user")
        following = next(users, None) if sees else None
        note = TextBlock(LEFT_OUT if following is None else FOLLOWS)
        content = tuple(note if _is_replaced(block) else block for block in message.content)
        placed[index] = replace(message, content=content)
        if following is None:
            lost += len(images)
        else:
            placed[following] = _insert_images(placed[following], images)
    if lost:
        text = f"Generated images were replaced by a note in the request ({lost})."
        warnings.append(WarningEvent("images_replaced", text))
    return placed


def _is_replaced(block: ContentBlock) -> bool:
    return isinstance(block, ImageBlock) and block.opaque is None


def _insert_images(message: Message, images: Sequence[ContentBlock]) -> Message:
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    others = [block for block in message.content if not isinstance(block, ToolResultBlock)]
    return replace(message, content=(*results, *images, *others))
