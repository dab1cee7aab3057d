"""The memory of recent answers, for clients that can hold no more than text and tool calls.

Such a client drops thinking, signatures, opaque data, the exact text of arguments. What it sends back is
completed here, byte for byte, before a turn is planned. Above it are `turn` and whoever holds a connection:
a memory belongs to one connection and is never written anywhere. Below it `same_answer` compares.

That data of one answer never goes to another one, an answer must be recognised by more than its words, of
which "Done." is the commonest. Signs, the best one first: the whole conversation before it; all the user's
words before it, where an answer in between was edited; all the assistant's, if they are long, where a
question was; for a tool call, what came directly before it; an id of a call that looks random, or a long
text. The best sign that is found decides, and only if all answers with that sign were given in one place.
"""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields
from hashlib import blake2b
from itertools import chain, groupby
from typing import NamedTuple

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    ImageBlock,
    Message,
    Origin,
    Response,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.engine.refusals import Refusals
from jumpseat.engine.same_answer import completed

MAX_ANSWERS = 1000
"""Answers: those of several long agent sessions in one editor."""

MAX_BYTES = 32 << 20
"""Bytes of all answers; encrypted reasoning of one is seldom more than 30 KiB, so both limits are alike."""

LONG_TEXT = 200
"""Characters, white space left out: nobody says as much twice by chance, or types it for something else."""

_RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{8,}")
"""In an id that no second call has; `call_1` and `functions.read_file:0` come again elsewhere."""

_ASCII_SPACE = bytes(code for code in range(128) if chr(code).isspace())

_BLOCK_OVERHEAD = 200
"""Bytes of a block and its place in the memory, without its texts."""

_PARSED = 4
"""How many times its own size a JSON text is once it is parsed."""


class _Words(NamedTuple):
    """What every client keeps of a message."""

    digest: bytes
    """Of texts and calls, white space left out, because clients join, split and trim texts."""

    length: int
    """Characters of the texts; 0 and an empty digest where the message has neither text nor calls."""

    calls: Sequence[str]
    """The ids of the calls; a tool's name, which is a part of some, left out."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer. `keys` are those of the index, from the best sign to the weakest."""

    origin: Origin
    content: tuple[ContentBlock, ...]
    place: bytes
    keys: tuple[bytes, ...]
    size: int


class BlockMemory:
    """Recent answers of one connection; the least recently used go first."""

    def __init__(self, *, max_answers: int = MAX_ANSWERS, max_bytes: int = MAX_BYTES) -> None:
        self.refusals = Refusals()
        """What providers have refused of these answers."""

        self._max_answers = max_answers
        self._max_bytes = max_bytes
        self._answers: OrderedDict[int, _Answer] = OrderedDict()
        self._index: dict[bytes, list[int]] = {}
        self._size = 0
        self._last = 0

    def __len__(self) -> int:
        """How many answers are remembered."""
        return len(self._answers)

    @property
    def size(self) -> int:
        """The bytes that they take, about."""
        return self._size

    def remember(self, response: Response, after: Sequence[Message] = ()) -> None:
        """Remember an answer, or the part of one that the client was given.

        Args:
            response: the answer; one without text and calls leaves nothing to know it by.
            after: the conversation that it answers, as the client sent it.
        """
        content = tuple(response.content)
        words = _words_of(content)
        size = sum(map(_size_of, content))
        if not words.digest or size > self._max_bytes:
            return
        trail = _Trail()
        for message in after:
            trail.step(message.role, _words_of(message.content))
        origins = (block.origin for block in content if block.origin is not None)
        origin = next(origins, Origin(response.provider, response.model))
        answer = _Answer(origin, content, trail.place, tuple(sign for sign, _ in trail.signs(words)), size)
        for serial in self._index.get(answer.keys[0], ()):
            if self._answers[serial] == answer:
                self._answers.move_to_end(serial)
                return
        self._last += 1
        self._answers[self._last] = answer
        self._size += size
        for key in answer.keys:
            self._index.setdefault(key, []).append(self._last)
        while len(self._answers) > self._max_answers or self._size > self._max_bytes:
            self._forget_one()

    def restored(self, messages: Sequence[Message], origin: Origin | None = None) -> tuple[Message, ...]:
        """The messages, one for one, each of the assistant's with what the client has lost of it.

        A message that is no answer of ours, or was changed, comes back as it is. An answer in several
        messages in a row comes back whole in the first one, and the others empty.

        Args:
            messages: the conversation as the client sent it.
            origin: whom the conversation goes to: what others have made is left as it is. None: whoever.
        """
        result: list[Message] = []
        trail = _Trail()
        for role, group in groupby(messages, lambda message: message.role):
            run = list(group)
            if role == "assistant":
                result += self._restored_run(run, trail, origin)
                continue
            result += run
            for message in run:
                trail.step(role, _words_of(message.content))
        return tuple(result)

    def _restored_run(self, run: Sequence[Message], trail: _Trail, origin: Origin | None) -> list[Message]:
        """Messages of the assistant's in a row: answers of their own, or pieces of one. Goes past them."""
        before = copy(trail)
        found = []
        for message in run:
            words = _words_of(message.content)
            found.append(self._recognised(message.content, words, trail, origin))
            trail.step("assistant", words)
        if len(run) > 1 and not any(found):
            joined = tuple(chain.from_iterable(message.content for message in run))
            whole = self._recognised(joined, _words_of(joined), before, origin)
            if whole is not None:
                found = [whole, *[()] * (len(run) - 1)]
        return [
            message if content is None else Message("assistant", content)
            for message, content in zip(run, found, strict=True)
        ]

    def _recognised(
        self, given: Sequence[ContentBlock], words: _Words, trail: _Trail, origin: Origin | None
    ) -> tuple[ContentBlock, ...] | None:
        """The client's blocks, completed; None where they are no answer that is known."""
        if not words.digest:
            return None
        signs = (sign for sign, is_good in trail.signs(words) if is_good)
        serials = next((found for sign in signs if (found := self._index.get(sign))), ())
        answers = [self._answers[serial] for serial in serials]
        # Answers given in one place are its alternatives; of two places, nothing says which is meant.
        if len({answer.place for answer in answers}) != 1:
            return None
        for serial, answer in zip(reversed(serials), reversed(answers), strict=True):
            if origin is None or answer.origin == origin:
                content = completed(given, answer.content, answer.origin)
                if content is not None:
                    self._answers.move_to_end(serial)
                    return content
        return None

    def _forget_one(self) -> None:
        serial, answer = self._answers.popitem(last=False)
        self._size -= answer.size
        for key in answer.keys:
            serials = self._index[key]
            serials.remove(serial)
            if not serials:
                del self._index[key]


class _Trail:
    """The way through a conversation, as a client sees it that holds text and calls only."""

    def __init__(self) -> None:
        self.place = b""
        """All that was said so far."""

        self._asked = b""
        self._said = b""
        self._said_length = 0
        self._near = b""
        """What was said since the assistant began its last message."""

    def step(self, role: Role, words: _Words) -> None:
        """Go past a message; one that holds nothing for such a client is no step."""
        if not words.digest:
            return
        self.place = _digest(self.place, role.encode(), words.digest)
        if role == "user":
            self._asked = _digest(self._asked, words.digest)
            self._near = _digest(self._near, words.digest)
        else:
            self._said = _digest(self._said, words.digest)
            self._said_length += words.length
            self._near = words.digest

    def signs(self, words: _Words) -> Iterator[tuple[bytes, bool]]:
        """The signs by which an answer of these words is known that is given here, the best one first.

        With each comes whether it is good: whether no other answer of these words can have it by chance.
        """
        yield _digest(b"place", self.place, words.digest), True
        yield _digest(b"asked", self._asked, words.digest), True
        yield _digest(b"said", self._said, words.digest), self._said_length + words.length >= LONG_TEXT
        yield _digest(b"near", self._near, words.digest), bool(words.calls)
        yield (
            _digest(b"words", words.digest),
            words.length >= LONG_TEXT or any(map(_RANDOM.search, words.calls)),
        )


def _digest(*parts: bytes) -> bytes:
    """Of words without a zero byte, and of digests, which are of one length or empty: no two are alike."""
    return blake2b(b"\0".join(parts), digest_size=16).digest()


def _words_of(content: Sequence[ContentBlock]) -> _Words:
    digest = blake2b(digest_size=16)
    length = 0
    held = False
    for block in content:
        match block:
            case TextBlock():
                dense, characters = _without_space(block.text)
                parts: tuple[bytes, ...] = (dense,)
                length += characters
            case ToolUseBlock():
                parts = (b"\0call", _encoded(block.id), _encoded(block.name))
            case ToolResultBlock():
                parts = (b"\0result", _encoded(block.tool_use_id), _encoded(block.content))
            case ContextBlock():
                parts = (b"\0context", _encoded(block.uri or ""), _encoded(block.text))
            case ImageBlock():
                parts = (b"\0image", _encoded(block.source))
            case _:
                continue
        for part in parts:
            held = held or part != b""
            digest.update(part)
    calls = tuple(block.id.replace(block.name, "") for block in content if isinstance(block, ToolUseBlock))
    return _Words(digest.digest() if held else b"", length, calls)


def _without_space(text: str) -> tuple[bytes, int]:
    """A text without its white space, and how many characters that is."""
    if text.isascii():
        # Several times as fast, which counts: every turn comes with all the texts of its conversation.
        dense = text.encode().translate(None, _ASCII_SPACE)
        return dense, len(dense)
    characters = "".join(text.split())
    return _encoded(characters), len(characters)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _size_of(block: ContentBlock) -> int:
    texts = (getattr(block, each.name) for each in fields(block))
    size = _BLOCK_OVERHEAD + sum(sys.getsizeof(text) for text in texts if isinstance(text, str))
    return size + _PARSED * len(block.raw) if isinstance(block, ToolUseBlock) else size
