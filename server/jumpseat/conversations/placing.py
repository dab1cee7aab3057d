"""Decides which kept conversation the messages of a turn continue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from jumpseat.chat import ContentBlock, Message, ToolResultBlock, ToolUseBlock
from jumpseat.conversations.same_content import (
    MessageWords,
    extract_words,
    is_same_beginning,
    is_same_content,
)

Clean: TypeAlias = Callable[[Message], Message]
"""Redacts a kept message, because a secret may have become known after the message was stored."""

Last: TypeAlias = Literal["none", "open", "lost", "unfinished", "finished"]
"""The state of a conversation's last turn.

none: the conversation has no turn.
open: a living process runs the turn.
lost: the process that ran the turn was killed.
unfinished: the turn failed or was cancelled.
finished: the turn ended with a whole answer.
"""


@dataclass(frozen=True, slots=True)
class PlacingFacts:
    """The facts about a kept conversation that determine the place of a turn."""

    inputs: Sequence[Message]
    """The messages without the last turn's answer."""

    answer: Message | None
    """The last turn's complete or partial answer."""

    last: Last
    """The state of the last turn."""

    before_last: int = 0
    """The number of messages before the last turn."""


@dataclass(frozen=True, slots=True)
class Placing:
    """The place of a turn: the first `base` kept messages, then the client's messages from index `new`."""

    kind: Literal["continue", "retry", "fork"]
    base: int
    new: int

    @property
    def rank(self) -> tuple[bool, int]:
        """The rank of this place. A turn gets the place with the highest rank in any conversation."""
        return self.kind != "fork", self.base


def place_turn(
    facts: PlacingFacts, messages: Sequence[Message], clean: Clean = lambda message: message
) -> Placing:
    """Determine where a turn with these messages belongs in this conversation.

    Args:
        facts: the conversation.
        messages: all messages that the client sent.
        clean: applied to a kept message before it is compared.
    """
    inputs = len(facts.inputs)
    answer = () if facts.answer is None else (facts.answer,)
    ours = [*facts.inputs, *answer]
    # If our first n messages have the same content as the client's first m messages, this maps n to m.
    common = dict(_find_common(ours, messages, clean))
    end = common.get(inputs)
    # The client's messages end with the last question, so the client wants another answer.
    if end is not None and facts.last != "none" and not _has_content(messages[end:]):
        return Placing("retry", inputs, len(messages))
    if facts.last != "open":
        # The messages contain the whole conversation, or all of it except the partial answer.
        if len(ours) in common:
            return Placing("continue", len(ours), common[len(ours)])
        if end is not None and _can_replace(facts, messages[end], clean):
            return Placing("continue", inputs, end)
    base = max(common)
    new = common[base]
    # The last question got no output, so the client's new messages may replace it.
    if _is_empty(facts) and base >= facts.before_last and _has_content(messages[new:]):
        return Placing("continue", base, new)
    return Placing("fork", base, new)


def _is_empty(facts: PlacingFacts) -> bool:
    """Whether the last turn ended without output, so that another question may replace it."""
    return facts.last in ("lost", "unfinished") and (facts.answer is None or not facts.answer.content)


def _can_replace(facts: PlacingFacts, message: Message, clean: Clean) -> bool:
    """Whether a message may follow the last question instead of the kept partial answer."""
    if facts.last not in ("lost", "unfinished"):
        return False
    if message.role == "user":
        return True
    # A killed process may have saved less of the answer than it sent, or more.
    return (
        facts.last == "lost"
        and facts.answer is not None
        and is_same_beginning(message.content, clean(facts.answer).content)
    )


def _has_content(messages: Sequence[Message]) -> bool:
    return any(extract_words(message.content).digest for message in messages)


def _find_common(
    ours: Sequence[Message], theirs: Sequence[Message], clean: Clean
) -> Iterator[tuple[int, int]]:
    """Yield the lengths of equal beginnings: the number of our messages, and of the client's messages."""
    our_count = their_count = 0
    while True:
        yield our_count, their_count
        step = _match_next(ours, our_count, theirs, their_count, clean)
        if step is None:
            return
        our_count, their_count = our_count + step[0], their_count + step[1]


def _match_next(
    ours: Sequence[Message], our_count: int, theirs: Sequence[Message], their_count: int, clean: Clean
) -> tuple[int, int] | None:
    """Return how many of our next messages, and how many of the client's, have the same content.

    One of the numbers is 0 if a message without content is skipped. Return None if nothing matches.
    """
    if our_count == len(ours):
        return None
    mine = clean(ours[our_count])
    role = mine.role
    if their_count < len(theirs):
        other = theirs[their_count]
        if other.role == role and is_same_content(role, other.content, mine.content):
            return 1, 1
    our_words = extract_words(mine.content)
    if not our_words.digest:
        return 1, 0  # A client may drop an empty answer.
    if their_count == len(theirs):
        return None
    their_words = extract_words(other.content)
    if not their_words.digest:
        return 0, 1
    if other.role != role:
        return None
    for count, joined in _join_messages(theirs, their_count, role, our_words):
        if is_same_content(role, joined, mine.content):
            return 1, count
    for count, joined in _join_messages(ours, our_count, role, their_words, clean):
        if is_same_content(role, other.content, joined):
            return count, 1
    return None


def _join_messages(
    messages: Sequence[Message],
    start: int,
    role: str,
    words: MessageWords,
    clean: Clean = lambda message: message,
) -> Iterator[tuple[int, list[ContentBlock]]]:
    """Join consecutive messages of this role, from `start` on.

    Yield the number of joined messages (2, 3, …) and their content, if the content has as much text and as
    many other blocks as `words`.
    """
    content: list[ContentBlock] = []
    other_blocks = length = 0
    for count, message in enumerate(islice(messages, start, None), start=1):
        if message.role != role:
            return
        more = clean(message).content
        content += more
        added = extract_words(more)
        other_blocks, length = other_blocks + added.other_blocks, length + added.length
        if other_blocks > words.other_blocks or length > words.length:
            return
        if count > 1 and (other_blocks, length) == (words.other_blocks, words.length):
            yield count, content


def find_cut(messages: Sequence[Message], count: int | None) -> int:
    """Return how many messages to copy, at most `count`, so that no copied call loses its result.

    The exception is a call in the first message, which is always copied.
    """
    end = len(messages) if count is None else min(count, len(messages))
    unanswered: dict[str, int] = {}
    for number, message in enumerate(messages):
        for block in message.content:
            if isinstance(block, ToolUseBlock) and number < end:
                unanswered[block.id] = number
            elif isinstance(block, ToolResultBlock):
                call = unanswered.pop(block.tool_use_id, end)
                if number >= end > call:
                    return max(call, 1)
    return end
