"""Compares the blocks of a client with an answer of the daemon, and completes them from it.

Clients that keep only text and tool calls drop other blocks, join, split and trim texts, and serialise
arguments again; it is still the same answer. With a changed word, call or order it is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    ImageBlock,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.arguments import parse_arguments

# The blocks up to a tool call, and that call; None at the end.
_Segment: TypeAlias = tuple[list[ContentBlock], ToolUseBlock | None]


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
    theirs, own = _segments(given), _segments(ours)
    if len(theirs) != len(own):
        return None
    for (their_prose, their_call), (our_prose, our_call) in zip(theirs, own, strict=True):
        prose = _completed_prose(their_prose, our_prose)
        if prose is None:
            return None
        whole += prose
        if their_call is not None and our_call is not None:
            if not _is_same_call(their_call, our_call):
                return None
            whole.append(_kept(their_call, our_call))
    return tuple(whole)


def _segments(blocks: Iterable[ContentBlock]) -> list[_Segment]:
    segments: list[_Segment] = []
    prose: list[ContentBlock] = []
    for block in blocks:
        if isinstance(block, ToolUseBlock):
            segments.append((prose, block))
            prose = []
        else:
            prose.append(block)
    return [*segments, (prose, None)]


def _completed_prose(theirs: list[ContentBlock], ours: list[ContentBlock]) -> list[ContentBlock] | None:
    if any(isinstance(block, ImageBlock | ContextBlock | ToolResultBlock) for block in theirs):
        return None
    their_texts = [block for block in theirs if isinstance(block, TextBlock)]
    our_texts = [block for block in ours if isinstance(block, TextBlock)]
    if not _is_same_text("".join(block.text for block in their_texts), [block.text for block in our_texts]):
        return None
    # The client kept provider data, so a block that it does not have was removed on purpose.
    if any(_has_provider_data(block) for block in theirs):
        return theirs
    shown = "".join(block.thinking for block in theirs if isinstance(block, ThinkingBlock))
    thoughts = (block.thinking for block in ours if isinstance(block, ThinkingBlock))
    if shown and not _is_same_text(shown, thoughts):
        return None
    if len(their_texts) != len(our_texts):
        return theirs if any(block.opaque is not None for block in their_texts) else ours
    given = iter(their_texts)
    return [_kept(next(given), block) if isinstance(block, TextBlock) else block for block in ours]


def _has_provider_data(block: ContentBlock) -> bool:
    """Whether a client that sends this block keeps what it does not understand."""
    match block:
        case ThinkingBlock():
            return block.signature is not None or block.opaque is not None
        case RedactedThinkingBlock() | OtherBlock():
            return True
        case TextBlock() | ToolUseBlock():
            return False
        case ImageBlock() | ContextBlock() | ToolResultBlock():
            return False  # Only in a user's message.
        case _:
            assert_never(block)


def _kept(theirs: ContentBlock, ours: ContentBlock) -> ContentBlock:
    """The answer's block, with the opaque data that the client kept for it."""
    return ours if theirs.opaque is None else replace(ours, opaque=theirs.opaque)


def _is_same_text(text: str, pieces: Iterable[str]) -> bool:
    """Whether a text consists of these pieces; white space around them does not count."""
    position = 0
    for piece in pieces:
        stripped = piece.strip()
        while position < len(text) and text[position].isspace():
            position += 1
        if not text.startswith(stripped, position):
            return False
        position += len(stripped)
    return not text[position:].strip()


def _is_same_call(theirs: ToolUseBlock, ours: ToolUseBlock) -> bool:
    if (theirs.id, theirs.name) != (ours.id, ours.name):
        return False
    if not _is_same_json(theirs.arguments or {}, ours.arguments or {}):
        return False
    if theirs.raw == ours.raw:
        return True
    arguments, _ = parse_arguments(theirs.raw)
    return arguments is not None and _is_same_json(arguments, ours.arguments or {})


def _is_same_json(one: Any, other: Any) -> bool:
    """Whether two values are equal after a client has parsed and written them."""
    # In JavaScript and Lua numbers are doubles. In Lua an empty table is an object or an array, and members
    # that are null do not exist.
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = (
            {key: value for key, value in each.items() if value is not None} for each in (one, other)
        )
        return left.keys() == right.keys() and all(_is_same_json(left[key], right[key]) for key in left)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same_json, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return _double(one) == _double(other)
    if isinstance(one, Mapping | list) and isinstance(other, Mapping | list):
        return not one and not other
    return bool(one == other)


def _double(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
