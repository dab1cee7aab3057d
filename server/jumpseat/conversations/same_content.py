"""Compares the blocks that a client sends with the blocks of a message that the daemon has.

Some clients preserve only text and tool calls: they drop other blocks, join, split and trim the texts of an
answer, and serialise arguments again. The result is still the same answer. A changed word, call or order
makes it a different answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.arguments import parse_arguments

_Part: TypeAlias = list[str] | tuple[Any, ...] | ToolUseBlock
"""A list is a run of texts; a tuple is an image, a document, a context or a result; a block is a call."""


_ASCII_SPACE = bytes(code for code in range(128) if chr(code).isspace())


class MessageWords(NamedTuple):
    """The part of a message that every client preserves. It is equal for messages with the same content."""

    digest: int
    """A hash of the texts without white space and of the other compared blocks; 0 if there are neither."""

    other_blocks: int
    """The number of compared blocks other than texts."""

    length: int
    """The number of UTF-8 bytes of the texts, without white space."""

    calls: Sequence[str]
    """The ids of the calls, without the tools' names, which some ids contain."""


def extract_words(blocks: Iterable[ContentBlock]) -> MessageWords:
    """Extract the part of a message that every client preserves."""
    kept: list[Any] = []
    calls: list[str] = []
    length = 0
    parts = _list_parts(blocks)
    for part in parts:
        if isinstance(part, list):
            text = _remove_space("".join(part))
            length += len(text)
            kept.append(text)
        elif isinstance(part, ToolUseBlock):
            kept.append((part.id, part.name))
            calls.append(part.id.replace(part.name, ""))
        else:
            kept.append(part)
    other_blocks = len(parts) // 2  # Texts and other parts alternate, and texts come first and last.
    return MessageWords(hash(tuple(kept)) if other_blocks or length else 0, other_blocks, length, calls)


def _remove_space(text: str) -> bytes:
    """Return a text without its white space, in UTF-8."""
    if text.isascii():
        return text.encode().translate(None, _ASCII_SPACE)  # This is several times as fast.
    return "".join(text.split()).encode("utf-8", "surrogatepass")


def is_same_beginning(one: Iterable[ContentBlock], other: Iterable[ContentBlock]) -> bool:
    """Whether the text of one message is the beginning of the text of the other, ignoring white space."""
    first, second = (
        _remove_space("".join(block.text for block in blocks if isinstance(block, TextBlock)))
        for blocks in (one, other)
    )
    return first.startswith(second) or second.startswith(first)


def is_same_answer(theirs: Sequence[ContentBlock], ours: Sequence[ContentBlock], origin: Origin) -> bool:
    """Whether a client's blocks are this answer, perhaps without data that the client cannot preserve.

    Args:
        theirs: the client's blocks.
        ours: the whole answer.
        origin: the provider and model of the answer.
    """
    if any(block.origin not in (None, origin) for block in theirs):
        return False
    if not {block.opaque for block in theirs} <= {None, *(block.opaque for block in ours)}:
        return False
    shown, thoughts = (
        [block.thinking for block in blocks if isinstance(block, ThinkingBlock)] for blocks in (theirs, ours)
    )
    if any(shown) and not _is_same_text("".join(shown), thoughts):
        return False
    return is_same_content("assistant", theirs, ours)


def is_same_content(role: Role, theirs: Sequence[ContentBlock], ours: Sequence[ContentBlock]) -> bool:
    """Whether two messages of a role have the same content, ignoring thinking and provider data."""
    if tuple(theirs) == tuple(ours):
        return True  # Skip the rest for clients that send back exactly what they received.
    their_parts, our_parts = _list_parts(theirs), _list_parts(ours)
    return len(their_parts) == len(our_parts) and all(
        _is_same_part(role, each, own) for each, own in zip(their_parts, our_parts, strict=True)
    )


def _is_same_part(role: Role, theirs: _Part, ours: _Part) -> bool:
    if isinstance(theirs, list) and isinstance(ours, list):
        text = "".join(theirs)
        # Clients trim the texts of an answer when they display them, but not the user's own texts.
        return text == "".join(ours) or (role == "assistant" and _is_same_text(text, ours))
    if isinstance(theirs, ToolUseBlock) and isinstance(ours, ToolUseBlock):
        return _is_same_call(theirs, ours)
    return theirs == ours


def _list_parts(blocks: Iterable[ContentBlock]) -> list[_Part]:
    """Return the parts to compare. Runs of texts, which may be empty, alternate with other parts."""
    texts: list[str] = []
    parts: list[_Part] = [texts]
    for block in blocks:
        part: _Part
        match block:
            case TextBlock():
                texts.append(block.text)
                continue
            case ToolUseBlock():
                part = block
            case ToolResultBlock():
                part = (block.type, block.tool_use_id, block.content, bool(block.is_error))
            case ImageBlock() if block.origin is not None:
                continue  # Some clients cannot preserve generated images.
            case ImageBlock():
                part = (block.type, block.source, block.media_type)
            case DocumentBlock():
                part = (block.type, block.source, block.media_type, block.name)
            case ContextBlock():
                part = (block.type, block.text, block.uri, block.language_id, block.range, block.label)
            case ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
                continue
            case _:
                assert_never(block)
        texts = []
        parts += (part, texts)
    return parts


def _is_same_text(text: str, pieces: Iterable[str]) -> bool:
    """Whether a text consists of these pieces, ignoring white space around them."""
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
    """Whether two calls have the same id, name and arguments."""
    if (theirs.id, theirs.name) != (ours.id, ours.name):
        return False
    if not _is_same_json(theirs.arguments or {}, ours.arguments or {}):
        return False
    if theirs.raw == ours.raw:
        return True
    arguments, _ = parse_arguments(theirs.raw)
    return arguments is not None and _is_same_json(arguments, ours.arguments or {})


def _is_same_json(one: Any, other: Any) -> bool:
    """Whether two values are equal after a client has parsed and serialised them."""
    # Numbers are doubles in JavaScript and Lua. In Lua, an empty table is an object or an array, and members
    # that are null do not exist.
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = (
            {key: value for key, value in each.items() if value is not None} for each in (one, other)
        )
        if left.keys() != right.keys():
            return False
        # Use a loop, because a generator would take a second stack frame for each level of a deep value.
        for key in left:  # noqa: SIM110 - as above
            if not _is_same_json(left[key], right[key]):
                return False
        return True
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same_json, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return _to_double(one) == _to_double(other)
    if isinstance(one, Mapping | list) and isinstance(other, Mapping | list):
        return not one and not other
    return bool(one == other)


def _to_double(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
