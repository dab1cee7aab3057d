"""Completes the blocks of a client from an answer of the daemon, if they are that answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

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
)
from jumpseat.conversations.same_content import is_same_call, is_same_text, segments


def completed(
    given: Sequence[ContentBlock], ours: Sequence[ContentBlock], origin: Origin
) -> tuple[ContentBlock, ...] | None:
    """The client's blocks, completed from the answer; None if they are not that answer.

    Args:
        given: the client's blocks. Those with data of their own do not change.
        ours: the whole answer.
        origin: the provider and model of the answer.
    """
    if any(block.origin not in (None, origin) for block in given):
        return None
    whole: list[ContentBlock] = []
    theirs, own = segments(given), segments(ours)
    if len(theirs) != len(own):
        return None
    for (their_prose, their_call), (our_prose, our_call) in zip(theirs, own, strict=True):
        prose = _completed_prose(their_prose, our_prose)
        if prose is None:
            return None
        whole += prose
        if their_call is not None and our_call is not None:
            if not is_same_call(their_call, our_call):
                return None
            whole.append(_kept(their_call, our_call))
    return tuple(whole)


def _completed_prose(theirs: list[ContentBlock], ours: list[ContentBlock]) -> list[ContentBlock] | None:
    if any(map(_is_users, theirs)):
        return None
    their_texts = [block for block in theirs if isinstance(block, TextBlock)]
    our_texts = [block for block in ours if isinstance(block, TextBlock)]
    if not is_same_text("".join(block.text for block in their_texts), [block.text for block in our_texts]):
        return None
    # The client kept provider data, so a block that it does not have was removed on purpose.
    if any(_has_provider_data(block) for block in theirs):
        return theirs
    shown = "".join(block.thinking for block in theirs if isinstance(block, ThinkingBlock))
    thoughts = (block.thinking for block in ours if isinstance(block, ThinkingBlock))
    if shown and not is_same_text(shown, thoughts):
        return None
    if len(their_texts) != len(our_texts):
        return theirs if any(block.opaque is not None for block in their_texts) else ours
    given = iter(their_texts)
    return [_kept(next(given), block) if isinstance(block, TextBlock) else block for block in ours]


def _is_users(block: ContentBlock) -> bool:
    """Whether no model makes such a block; a generated image has an origin."""
    is_own_image = isinstance(block, ImageBlock) and block.origin is None
    return is_own_image or isinstance(block, ContextBlock | ToolResultBlock)


def _has_provider_data(block: ContentBlock) -> bool:
    """Whether a client that sends this block keeps what it does not understand."""
    match block:
        case ThinkingBlock():
            return block.signature is not None or block.opaque is not None
        case RedactedThinkingBlock() | OtherBlock() | ImageBlock():
            return True
        case TextBlock() | ToolUseBlock():
            return False
        case DocumentBlock() | ContextBlock() | ToolResultBlock():
            return False  # Only in a user's message.
        case _:
            assert_never(block)


def _kept(theirs: ContentBlock, ours: ContentBlock) -> ContentBlock:
    """The answer's block, with the opaque data that the client kept for it."""
    return ours if theirs.opaque is None else replace(ours, opaque=theirs.opaque)
