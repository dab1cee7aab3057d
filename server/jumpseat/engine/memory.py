"""The memory of recent answers, for clients that can preserve only text and tool calls.

Such clients drop thinking, signatures, opaque data and the exact text of arguments. The memory restores
these byte for byte before a turn is planned. A memory belongs to one connection and is never stored.
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
from jumpseat.conversations.same_content import MessageWords, extract_words, is_same_answer
from jumpseat.engine.refusals import Refusals

MAX_ANSWERS = 1000
"""The maximum number of answers to remember: enough for several long agent sessions in one editor."""

MAX_BYTES = 32 << 20
"""The maximum total size of the answers.

Encrypted reasoning rarely exceeds 30 KiB per answer, so both limits allow a similar number of answers.
"""

LONG_TEXT = 200
"""The minimum length of a text that is assumed not to recur by chance, in bytes without white space."""

# Matches the part of an id that is unique to a call; `call_1` and `functions.read_file:0` have no such part.
_RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{8,}")

_BLOCK_OVERHEAD = 200
"""The bytes of a block and its index entries, excluding its texts."""

_PARSED = 4
"""The size of parsed JSON as a multiple of the size of its text."""


class _Place(NamedTuple):
    """A position in a conversation, as hashes of the preceding messages."""

    all: int = 0
    user: int = 0
    assistant: int = 0
    near: int = 0
    """The hash of the messages since the last assistant message, including that message."""

    assistant_length: int = 0

    def advance(self, role: Role, words: MessageWords) -> _Place:
        """Return the position after one more message; a message without text or calls does not change it."""
        digest = words.digest
        if not digest:
            return self
        whole = hash((self.all, role, digest))
        if role == "user":
            user, near = hash((self.user, digest)), hash((self.near, digest))
            return _Place(whole, user, self.assistant, near, self.assistant_length)
        length = self.assistant_length + words.length
        return _Place(whole, self.user, hash((self.assistant, digest)), digest, length)

    def list_fingerprints(self, words: MessageWords) -> list[int]:
        """Return the hashes under which an answer with this content is indexed, the most specific first.

        A hash is listed only if two different answers are unlikely to share it.
        """
        digest = words.digest
        # The second hash still matches if an earlier answer was edited.
        fingerprints = [hash(("all", self.all, digest)), hash(("user", self.user, digest))]
        if self.assistant_length + words.length >= LONG_TEXT:
            # This hash still matches if an earlier question was edited.
            fingerprints.append(hash(("assistant", self.assistant, digest)))
        if words.calls:
            # This hash still matches if old messages were removed, as agents do to shorten a conversation.
            fingerprints.append(hash(("near", self.near, digest)))
        if words.length >= LONG_TEXT or any(map(_RANDOM.search, words.calls)):
            fingerprints.append(digest)
        return fingerprints


class _Places:
    """The positions in a conversation, computed on demand."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._words: dict[int, MessageWords] = {}
        self._known = [_Place()]

    def words_at(self, number: int) -> MessageWords:
        """Return what every client preserves of the message with this number: its texts and calls."""
        if number not in self._words:
            self._words[number] = extract_words(self._messages[number].content)
        return self._words[number]

    def place_before(self, number: int) -> _Place:
        """Return the position before the message with this number."""
        for each in range(len(self._known) - 1, number):
            self._known.append(self._known[each].advance(self._messages[each].role, self.words_at(each)))
        return self._known[number]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """A remembered answer."""

    origin: Origin
    content: tuple[ContentBlock, ...]
    keys: Sequence[int]
    """The answer's fingerprints, the most specific first, then the digest of its words."""

    size: int


class BlockMemory:
    """The recent answers of one connection; the least recently used are removed first. Thread-safe."""

    def __init__(self, *, max_answers: int = MAX_ANSWERS, max_bytes: int = MAX_BYTES) -> None:
        self.refusals = Refusals()
        """The blocks that providers refused to accept when they were sent back."""

        self._max_answers = max_answers
        self._max_bytes = max_bytes
        self._answers: OrderedDict[_Answer, None] = OrderedDict()
        self._index: dict[int, list[_Answer]] = {}
        self._size = 0
        # Hold this lock for only one answer at a time, because the event loop may wait for it.
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of remembered answers."""
        return len(self._answers)

    @property
    def size(self) -> int:
        """The approximate size of the answers in bytes."""
        return self._size

    def remember(self, response: Response, messages: Sequence[Message]) -> None:
        """Remember a complete or partial answer, if a client could lose any of the answer's data.

        Args:
            response: the answer; without text or calls, it cannot be recognised and is not remembered.
            messages: the conversation before the answer, as the client sent it.
        """
        content = tuple(response.content)
        if all(isinstance(block, TextBlock) and block.opaque is None for block in content):
            return
        words = extract_words(content)
        size = sum(map(_estimate_size, content))
        if not words.digest or size > self._max_bytes:
            return
        origins = (block.origin for block in content if block.origin is not None)
        origin = next(origins, Origin(response.provider, response.model))
        fingerprints = _Places(messages).place_before(len(messages)).list_fingerprints(words)
        answer = _Answer(origin, content, tuple(dict.fromkeys([*fingerprints, words.digest])), size)
        with self._lock:
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

    def restore(self, messages: Sequence[Message], origin: Origin | None = None) -> Sequence[Message]:
        """Restore the blocks that the client dropped from remembered answers.

        The result has as many messages as the conversation. A message that is not a remembered answer, or
        was edited, does not change. If a client split an answer into several messages, the first one receives
        the whole answer, and the others become empty.

        Args:
            messages: the conversation as the client sent it.
            origin: the provider and model of the request; only their answers are restored. None restores all
                answers.
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
                if (whole := self._find_whole_answer(messages[number].content, places, number, origin))
                is not None
            }
            # A message without texts and calls is not part of a split answer.
            parts = [number for number in run if places.words_at(number).digest] if len(run) > 1 else run
            if len(parts) > 1 and not found:
                joined = tuple(chain.from_iterable(messages[number].content for number in run))
                whole = self._find_whole_answer(joined, places, run[0], origin, extract_words(joined))
                if whole is not None:
                    found = {**dict.fromkeys(run, ()), run[0]: whole}
            for number, content in found.items():
                restored[number] = Message(role, content)
        return restored

    def _find_whole_answer(
        self,
        given: Sequence[ContentBlock],
        places: _Places,
        number: int,
        origin: Origin | None,
        words: MessageWords | None = None,
    ) -> tuple[ContentBlock, ...] | None:
        """Return the remembered answer from which a client dropped data.

        Args:
            given: the client's blocks.
            places: the positions in the conversation.
            number: the number of the message with the blocks, or of the first of several messages.
            origin: the provider and model of the request.
            words: the joined words, if the blocks come from several messages.

        Returns:
            The content of the answer; None if no data was dropped, or if no answer matches with certainty.
        """
        if any(map(_shows_that_all_is_kept, given)):
            # This client preserves such data. So if a block is missing, the client removed it on purpose.
            return None
        words = words or places.words_at(number)
        with self._lock:
            alike = list(self._index.get(words.digest, ()))
        content = tuple(given)
        if all(answer.content == content for answer in alike):
            return None
        fingerprints = places.place_before(number).list_fingerprints(words)
        with self._lock:
            return self._match(given, fingerprints, origin)

    def _match(
        self, given: Sequence[ContentBlock], fingerprints: Iterable[int], origin: Origin | None
    ) -> tuple[ContentBlock, ...] | None:
        # Data must never be attached to the wrong answer, and a short text ("Done.") is ambiguous, so the
        # most specific known fingerprint decides.
        answers = next((found for each in fingerprints if (found := self._index.get(each))), ())
        # These answers have the same text. If their first keys are equal too, they answered the same
        # conversation, for example because a request was repeated, so each of them is right. Otherwise the
        # match is ambiguous.
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


def _shows_that_all_is_kept(block: ContentBlock) -> bool:
    """Whether only a client that preserves more than texts and calls can have sent this block."""
    if isinstance(block, ThinkingBlock):
        return block.signature is not None or block.opaque is not None
    return isinstance(block, RedactedThinkingBlock | OtherBlock | ImageBlock)


def _estimate_size(block: ContentBlock) -> int:
    texts = (getattr(block, each.name) for each in fields(block))
    size = _BLOCK_OVERHEAD + sum(sys.getsizeof(text) for text in texts if isinstance(text, str))
    return size + _PARSED * len(block.raw) if isinstance(block, ToolUseBlock) else size
