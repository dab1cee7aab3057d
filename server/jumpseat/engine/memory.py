"""The memory of recent answers, for clients that can keep only text and tool calls.

Such a client drops thinking, signatures, opaque data and the exact text of arguments. The memory restores
them byte for byte before a turn is planned. A memory belongs to one connection and is never stored.
"""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain, groupby
from threading import Lock
from typing import NamedTuple

from jumpseat.chat import (
    ContentBlock,
    ImageBlock,
    Message,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    Response,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from jumpseat.conversations.same_content import MessageWords, is_same_answer, words_of
from jumpseat.engine.refusals import Refusals

MAX_ANSWERS = 1000
"""Enough for several long agent sessions in one editor."""

MAX_BYTES = 32 << 20
"""Of all answers; the encrypted reasoning of one is rarely above 30 KiB, so both limits are similar."""

LONG_TEXT = 200
"""Bytes without white space: a text of this length does not occur twice by chance."""

# Part of an id that is unique to a call; `call_1` and `functions.read_file:0` occur in many chats.
_RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{8,}")

# Bytes of a block and its index entries, without its texts.
_BLOCK_OVERHEAD = 200

# The size of parsed JSON as a multiple of its text.
_PARSED = 4


class _Place(NamedTuple):
    """A position in a conversation: hashes of the messages before it."""

    all: int = 0
    user: int = 0
    assistant: int = 0
    near: int = 0
    """The messages from the last assistant message on."""

    assistant_length: int = 0

    def after(self, role: Role, words: MessageWords) -> _Place:
        """The position after one more message; one without text and calls changes nothing."""
        digest = words.digest
        if not digest:
            return self
        whole = hash((self.all, role, digest))
        if role == "user":
            user, near = hash((self.user, digest)), hash((self.near, digest))
            return _Place(whole, user, self.assistant, near, self.assistant_length)
        length = self.assistant_length + words.length
        return _Place(whole, self.user, hash((self.assistant, digest)), digest, length)

    def signs(self, words: MessageWords) -> list[int]:
        """The signs by which an answer with these words is recognised here, the strongest first.

        No other answer with the same words has one of them by chance.
        """
        digest = words.digest
        # The second sign is for a conversation in which an earlier answer was edited.
        signs = [hash(("all", self.all, digest)), hash(("user", self.user, digest))]
        if self.assistant_length + words.length >= LONG_TEXT:
            signs.append(hash(("assistant", self.assistant, digest)))  # An earlier question was edited.
        if words.calls:
            # Old messages were removed, as agents do to shorten a conversation.
            signs.append(hash(("near", self.near, digest)))
        if words.length >= LONG_TEXT or any(map(_RANDOM.search, words.calls)):
            signs.append(digest)
        return signs


class _Places:
    """The positions in a conversation, computed as far as one is asked for."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._words: dict[int, MessageWords] = {}
        self._known = [_Place()]

    def words(self, number: int) -> MessageWords:
        """The words of the message with this number."""
        if number not in self._words:
            self._words[number] = words_of(self._messages[number].content)
        return self._words[number]

    def before(self, number: int) -> _Place:
        """The position before the message with this number."""
        for each in range(len(self._known) - 1, number):
            self._known.append(self._known[each].after(self._messages[each].role, self.words(each)))
        return self._known[number]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """One answer."""

    origin: Origin
    content: tuple[ContentBlock, ...]
    keys: Sequence[int]
    """The answer's signs, the strongest first, then the digest of its words."""

    size: int


class BlockMemory:
    """Recent answers of one connection; the least recently used are removed first. Any thread may use it."""

    def __init__(self, *, max_answers: int = MAX_ANSWERS, max_bytes: int = MAX_BYTES) -> None:
        self.refusals = Refusals()
        """The blocks of these answers that providers refused."""

        self._max_answers = max_answers
        self._max_bytes = max_bytes
        self._answers: OrderedDict[_Answer, None] = OrderedDict()
        self._index: dict[int, list[_Answer]] = {}
        self._size = 0
        # Held for one answer at a time, because the event loop may wait for it.
        self._changing = Lock()

    def __len__(self) -> int:
        """How many answers are remembered."""
        return len(self._answers)

    @property
    def size(self) -> int:
        """Their approximate size in bytes."""
        return self._size

    def remember(self, response: Response, messages: Sequence[Message]) -> None:
        """Remember an answer, or the part of one that the client got, if a client could lose any of its data.

        Args:
            response: the answer; one without text and calls cannot be recognised and is not remembered.
            messages: the conversation that it answers, as the client sent it.
        """
        content = tuple(response.content)
        if all(isinstance(block, TextBlock) and block.opaque is None for block in content):
            return
        words = words_of(content)
        size = sum(map(_size_of, content))
        if not words.digest or size > self._max_bytes:
            return
        origins = (block.origin for block in content if block.origin is not None)
        origin = next(origins, Origin(response.provider, response.model))
        signs = _Places(messages).before(len(messages)).signs(words)
        answer = _Answer(origin, content, tuple(dict.fromkeys([*signs, words.digest])), size)
        with self._changing:
            self._add(answer)

    def _add(self, answer: _Answer) -> None:
        for known in self._index.get(answer.keys[0], ()):
            if (known.origin, known.content) == (answer.origin, answer.content):
                self._answers.move_to_end(known)
                return
        self._answers[answer] = None
        self._size += answer.size
        for key in answer.keys:
            self._index.setdefault(key, []).append(answer)
        while len(self._answers) > self._max_answers or self._size > self._max_bytes:
            self._forget_one()

    def restored(self, messages: Sequence[Message], origin: Origin | None = None) -> Sequence[Message]:
        """The messages, one for one; assistant messages get the blocks that the client dropped.

        A message that is not a remembered answer, or was edited, does not change. If a client split an answer
        into several messages, the first one gets the whole answer and the others are empty.

        Args:
            messages: the conversation as the client sent it.
            origin: the provider and model of the request; answers of others are not restored. None: all are.
        """
        if not self._answers:
            return messages
        places = _Places(messages)
        restored = list(messages)
        for role, group in groupby(range(len(messages)), lambda number: messages[number].role):
            if role == "user":
                continue
            run = list(group)
            found = {
                number: whole
                for number in run
                if (whole := self._whole(messages[number].content, places, number, origin)) is not None
            }
            if len(run) > 1 and not found:
                joined = tuple(chain.from_iterable(messages[number].content for number in run))
                whole = self._whole(joined, places, run[0], origin, words_of(joined))
                if whole is not None:
                    found = {**dict.fromkeys(run, ()), run[0]: whole}
            for number, content in found.items():
                restored[number] = Message(role, content)
        return restored

    def _whole(
        self,
        given: Sequence[ContentBlock],
        places: _Places,
        number: int,
        origin: Origin | None,
        words: MessageWords | None = None,
    ) -> tuple[ContentBlock, ...] | None:
        """The remembered answer that a client's blocks are, if it has more than they have.

        Args:
            given: the client's blocks.
            places: the positions in the conversation.
            number: the number of the blocks' message, or of the first of several.
            origin: the provider and model of the request.
            words: of several messages.
        """
        if any(map(_has_provider_data, given)):
            return (
                None  # The client keeps such data, so a block that it does not have was removed on purpose.
            )
        words = words or places.words(number)
        with self._changing:
            alike = list(self._index.get(words.digest, ()))
        content = tuple(given)
        if not alike or any(answer.content == content for answer in alike):
            return None
        signs = places.before(number).signs(words)
        with self._changing:
            return self._found(given, signs, origin)

    def _found(
        self, given: Sequence[ContentBlock], signs: Iterable[int], origin: Origin | None
    ) -> tuple[ContentBlock, ...] | None:
        # The data of one answer must never go to another one, and a short text ("Done.") identifies none. So
        # the strongest sign that is known decides.
        answers = next((found for sign in signs if (found := self._index.get(sign))), ())
        # Several answers in one place are alternatives. With two places the match would be ambiguous.
        if len({answer.keys[0] for answer in answers}) != 1:
            return None
        for answer in reversed(answers):
            if origin in (None, answer.origin) and is_same_answer(given, answer.content, answer.origin):
                self._answers.move_to_end(answer)
                return answer.content
        return None

    def _forget_one(self) -> None:
        answer, _ = self._answers.popitem(last=False)
        self._size -= answer.size
        for key in answer.keys:
            answers = self._index[key]
            answers.remove(answer)
            if not answers:
                del self._index[key]


def _has_provider_data(block: ContentBlock) -> bool:
    """Whether a client that sends this block keeps what it does not understand."""
    if isinstance(block, ThinkingBlock):
        return block.signature is not None or block.opaque is not None
    return isinstance(block, RedactedThinkingBlock | OtherBlock | ImageBlock)


def _size_of(block: ContentBlock) -> int:
    texts = (getattr(block, each.name) for each in fields(block))
    size = _BLOCK_OVERHEAD + sum(sys.getsizeof(text) for text in texts if isinstance(text, str))
    return size + _PARSED * len(block.raw) if isinstance(block, ToolUseBlock) else size
