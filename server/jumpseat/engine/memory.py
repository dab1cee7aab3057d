"""The memory of recent answers, for clients that can keep only text and tool calls.

Such a client drops thinking, signatures, opaque data and the exact text of arguments. The memory completes
its messages byte for byte before a turn is planned. A memory belongs to one connection and is never stored.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain, groupby
from operator import attrgetter
from threading import Lock

from jumpseat.chat import ContentBlock, Message, Origin, Response, ToolUseBlock
from jumpseat.engine.refusals import Refusals
from jumpseat.engine.same_answer import completed
from jumpseat.engine.trail import MessageWords, Trail, words_of

MAX_ANSWERS = 1000
"""Enough for several long agent sessions in one editor."""

MAX_BYTES = 32 << 20
"""Of all answers; the encrypted reasoning of one is rarely above 30 KiB, so both limits are similar."""

# Bytes of a block and its index entries, without its texts.
_BLOCK_OVERHEAD = 200

# The size of parsed JSON as a multiple of its text.
_PARSED = 4


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer. `keys` are its keys in the index, from the strongest sign to the weakest."""

    origin: Origin
    content: tuple[ContentBlock, ...]
    place: bytes
    keys: tuple[bytes, ...]
    size: int


class BlockMemory:
    """Recent answers of one connection; the least recently used are removed first. Any thread may use it."""

    def __init__(self, *, max_answers: int = MAX_ANSWERS, max_bytes: int = MAX_BYTES) -> None:
        self.refusals = Refusals()
        """The blocks of these answers that providers refused."""

        self._max_answers = max_answers
        self._max_bytes = max_bytes
        self._answers: OrderedDict[int, _Answer] = OrderedDict()
        self._index: dict[bytes, list[int]] = {}
        self._size = 0
        self._last = 0
        # Held for one answer at a time, because the event loop may wait for it.
        self._changing = Lock()

    def __len__(self) -> int:
        """How many answers are remembered."""
        return len(self._answers)

    @property
    def size(self) -> int:
        """Their approximate size in bytes."""
        return self._size

    def remember(self, response: Response, after: Trail) -> None:
        """Remember an answer, or the part of one that the client got.

        Args:
            response: the answer; one without text and calls cannot be recognised and is not remembered.
            after: the trail at the end of the conversation that it answers (from `restored`).
        """
        content = tuple(response.content)
        words = words_of(content)
        size = sum(map(_size_of, content))
        if not words.digest or size > self._max_bytes:
            return
        origins = (block.origin for block in content if block.origin is not None)
        origin = next(origins, Origin(response.provider, response.model))
        answer = _Answer(origin, content, after.place, tuple(sign for sign, _ in after.signs(words)), size)
        with self._changing:
            self._add(answer)

    def _add(self, answer: _Answer) -> None:
        for serial in self._index.get(answer.keys[0], ()):
            if self._answers[serial] == answer:
                self._answers.move_to_end(serial)
                return
        self._last += 1
        self._answers[self._last] = answer
        self._size += answer.size
        for key in answer.keys:
            self._index.setdefault(key, []).append(self._last)
        while len(self._answers) > self._max_answers or self._size > self._max_bytes:
            self._forget_one()

    def restored(
        self, messages: Sequence[Message], origin: Origin | None = None, trail: Trail | None = None
    ) -> Iterator[Message]:
        """The messages, one for one; assistant messages get the blocks that the client dropped.

        A message that is not a remembered answer, or was edited, does not change. If a client split an answer
        into several messages, the first one gets the whole answer and the others are empty.

        Args:
            messages: the conversation as the client sent it.
            origin: the provider and model of the request; answers of others are not restored. None: all are.
            trail: a fresh one; after the last message it is at the end of the conversation, for `remember`.
        """
        trail = trail or Trail()
        for role, group in groupby(messages, attrgetter("role")):
            run = list(group)
            if role == "assistant":
                yield from self._restored_run(run, trail, origin)
                continue
            for message in run:
                trail.step(role, words_of(message.content))
            yield from run

    def _restored_run(self, run: Sequence[Message], trail: Trail, origin: Origin | None) -> Sequence[Message]:
        """Consecutive assistant messages: an answer each, or parts of one. Moves the trail past them."""
        before = trail.copy() if len(run) > 1 else trail
        found = []
        for message in run:
            words = words_of(message.content)
            found.append(self._recognised(message.content, words, trail, origin))
            trail.step("assistant", words)
        if len(run) > 1 and not any(found):
            joined = tuple(chain.from_iterable(message.content for message in run))
            whole = self._recognised(joined, words_of(joined), before, origin)
            if whole is not None:
                found = [whole, *[()] * (len(run) - 1)]
        return [
            message if content is None else Message("assistant", content)
            for message, content in zip(run, found, strict=True)
        ]

    def _recognised(
        self, given: Sequence[ContentBlock], words: MessageWords, trail: Trail, origin: Origin | None
    ) -> tuple[ContentBlock, ...] | None:
        """The client's blocks, completed; None if they are not a remembered answer."""
        if words.digest not in self._index:
            return None  # No answer has these words; the common case for the history of another connection.
        with self._changing:
            return self._found(given, words, trail, origin)

    def _found(
        self, given: Sequence[ContentBlock], words: MessageWords, trail: Trail, origin: Origin | None
    ) -> tuple[ContentBlock, ...] | None:
        # The data of one answer must never go to another one, and a short text ("Done.") identifies none. So
        # the strongest sign that is known decides.
        signs = (sign for sign, is_good in trail.signs(words) if is_good)
        serials = next((found for sign in signs if (found := self._index.get(sign))), ())
        answers = [self._answers[serial] for serial in serials]
        # Several answers in one place are alternatives. With two places the match would be ambiguous.
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


def _size_of(block: ContentBlock) -> int:
    texts = (getattr(block, each.name) for each in fields(block))
    size = _BLOCK_OVERHEAD + sum(sys.getsizeof(text) for text in texts if isinstance(text, str))
    return size + _PARSED * len(block.raw) if isinstance(block, ToolUseBlock) else size
