"""The signs by which `memory` recognises an answer in a conversation of text and tool calls only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple, assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

LONG_TEXT = 200
"""Characters without white space: a text of this length does not occur twice by chance."""

# Part of an id that is unique to a call; `call_1` and `functions.read_file:0` occur in many chats.
_RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{8,}")

_ASCII_SPACE = bytes(code for code in range(128) if chr(code).isspace())

# All other white space in UTF-8, by its first byte, which most texts do not contain.
_OTHER_SPACE = (
    (b"\xc2", re.compile(rb"\xc2[\x85\xa0]")),
    (b"\xe1", re.compile(rb"\xe1\x9a\x80")),
    (b"\xe2", re.compile(rb"\xe2(?:\x80[\x80-\x8a\xa8\xa9\xaf]|\x81\x9f)")),
    (b"\xe3", re.compile(rb"\xe3\x80\x80")),
)


class MessageWords(NamedTuple):
    """The part of a message that every client keeps."""

    digest: bytes
    """Of texts and calls, without white space, because clients join, split and trim texts."""

    length: int
    """Characters of the texts; 0 with an empty digest if the message has neither text nor calls."""

    calls: Sequence[str]
    """The ids of the calls, without the tool's name, which some ids contain."""


class Trail:
    """A position in a conversation, with digests of the messages before it."""

    __slots__ = ("_all", "_assistant", "_assistant_length", "_near", "_user")

    def __init__(self) -> None:
        self._all = blake2b(digest_size=16, person=b"place")
        self._user = blake2b(digest_size=16, person=b"user")
        self._assistant = blake2b(digest_size=16, person=b"assistant")
        self._assistant_length = 0
        # The messages from the last assistant message on.
        self._near = blake2b(digest_size=16, person=b"near")

    @property
    def place(self) -> bytes:
        """A digest of all messages so far."""
        return self._all.digest()

    def copy(self) -> Trail:
        """An independent copy."""
        other = Trail()
        other._all, other._user = self._all.copy(), self._user.copy()
        other._assistant, other._assistant_length = self._assistant.copy(), self._assistant_length
        other._near = self._near.copy()
        return other

    def step(self, role: Role, words: MessageWords) -> None:
        """Move past a message; one without text and calls changes nothing."""
        digest = words.digest
        if not digest:
            return
        if role == "user":
            self._all.update(b"u" + digest)
            self._user.update(digest)
            self._near.update(digest)
        else:
            self._all.update(b"a" + digest)
            self._assistant.update(digest)
            self._assistant_length += words.length
            self._near = blake2b(digest, digest_size=16, person=b"near")

    def signs(self, words: MessageWords) -> Iterator[tuple[bytes, bool]]:
        """The signs of an answer with these words at this position, the strongest first.

        Each comes with whether it is reliable: no other answer with the same words has it by chance.
        The last one is the digest of the words; an answer without it has none of the others.
        """
        yield _with(self._all, words), True
        # An earlier answer was edited.
        yield _with(self._user, words), True
        # An earlier question was edited.
        yield _with(self._assistant, words), self._assistant_length + words.length >= LONG_TEXT
        # Old messages were removed, as agents do to shorten a conversation.
        yield _with(self._near, words), bool(words.calls)
        yield words.digest, words.length >= LONG_TEXT or any(map(_RANDOM.search, words.calls))


def _with(before: blake2b, words: MessageWords) -> bytes:
    digest = before.copy()
    digest.update(words.digest)
    return digest.digest()


def words_of(content: Sequence[ContentBlock]) -> MessageWords:
    """The part of a message with these blocks that every client keeps."""
    parts: list[bytes] = []
    calls: list[str] = []
    length = 0
    for block in content:
        match block:
            case TextBlock():
                dense, characters = _without_space(block.text)
                parts.append(dense)
                length += characters
            case ToolUseBlock():
                parts += (b"\0call", _encoded(block.id), _encoded(block.name))
                calls.append(block.id.replace(block.name, ""))
            case ToolResultBlock():
                parts += (b"\0result", _encoded(block.tool_use_id), _encoded(block.text))
                parts += [_encoded(part.source) for part in block.media]
            case ContextBlock():
                parts += (b"\0context", _encoded(block.uri or ""), _encoded(block.text))
            case ImageBlock() if block.origin is not None:
                continue  # Generated; some clients cannot keep it.
            case ImageBlock():
                parts += (b"\0image", _encoded(block.source))
            case DocumentBlock():
                parts += (b"\0document", _encoded(block.source))
            case ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
                continue
            case _:
                assert_never(block)
    held = parts[0] if len(parts) == 1 else b"".join(parts)
    return MessageWords(blake2b(held, digest_size=16).digest() if held else b"", length, calls)


def _without_space(text: str) -> tuple[bytes, int]:
    """A text without its white space, in UTF-8, and its number of characters."""
    # Every message of every chat passes here, and `str.translate` is slow for text that is not ASCII.
    encoded = _encoded(text)
    dense = encoded.translate(None, _ASCII_SPACE)
    characters = len(text) - (len(encoded) - len(dense))
    if not text.isascii():
        for first, spaces in _OTHER_SPACE:
            if first in dense:
                dense, removed = spaces.subn(b"", dense)
                characters -= removed
    return dense, characters


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
