"""A conversation in the one form that every provider takes.

Every call is answered directly behind its message, no message is empty, no two calls share an id, and, where
the provider wants it, a user's message comes first. Above it is `plan`, which tells the warnings; below it
only the vocabulary. What messages of one role in a row become is each dialect's own affair.

Why, by provider: Anthropic's API and chat completions refuse a call whose result is not the very next thing,
Responses one without an output; Anthropic's refuses empty messages and call ids that are used twice; chat
templates of Mistral's and Gemma's models, and Bedrock, refuse a conversation that the assistant begins,
which OpenAI's and Anthropic's own endpoints take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    ImageBlock,
    InvalidRequestError,
    Message,
    OtherBlock,
    Problem,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    WarningEvent,
)

UNANSWERED_CALL = "The tool was not run."
"""The result of a call that the client sends none for."""

OPENING = "(The assistant speaks first.)"
"""The user's message that is put before one of the assistant's that comes first."""

CLOSING = "Go on."
"""The user's message at the end where the client's own one was empty, or held late results alone."""

_SPOKEN_BY: Mapping[Role, tuple[type[ContentBlock], ...]] = {
    "user": (TextBlock, ImageBlock, ContextBlock, ToolResultBlock),
    "assistant": (TextBlock, ToolUseBlock, ThinkingBlock, RedactedThinkingBlock, OtherBlock),
}


def check_conversation(messages: Sequence[Message]) -> None:
    """Refuse what cannot be mended without guessing.

    Raises:
        InvalidRequestError: a block stands in a message of the wrong role, or a tool result answers no call
            that came before it.
    """
    problems = [
        Problem(
            f"messages.{index}.content.{position}",
            f"a block of the type {block.type!r} does not belong into a message of the {message.role}'s",
        )
        for index, message in enumerate(messages)
        for position, block in enumerate(message.content)
        if not isinstance(block, _SPOKEN_BY[message.role])
    ]
    if problems:
        raise InvalidRequestError(f"{problems[0].path}: {problems[0].message}.", problems)
    _paired(messages)


def arranged(
    messages: Sequence[Message], warnings: list[WarningEvent], *, user_begins: bool = True
) -> list[Message]:
    """The conversation in the form that this module promises; what was done to it is told in the warnings.

    Args:
        messages: the conversation, oldest first.
        warnings: takes what is told.
        user_begins: the provider wants a user's message first.

    Raises:
        InvalidRequestError: a tool result answers no call that came before it, or no message says anything.
    """
    calls = _paired(messages)
    _tell_of_results(calls, warnings)
    _give_each_its_own_id(calls)
    result: list[Message] = []
    owed: list[ContentBlock] = []
    empty = alone = 0
    for index, message in enumerate(messages):
        if message.role == "assistant":
            if not _says_something(message):
                alone += any(isinstance(b, ThinkingBlock | RedactedThinkingBlock) for b in message.content)
                continue
            if owed:
                result.append(Message("user", tuple(owed)))
            result.append(_with_ids(message, calls[index]))
            owed = [call.result() for call in calls[index]]
            continue
        own = [block for block in message.content if not isinstance(block, ToolResultBlock)]
        words = [block for block in own if not _is_blank(block)]
        empty += not words and len(own) == len(message.content)
        if owed or words:
            changed = owed or len(words) != len(message.content)
            result.append(Message("user", (*owed, *words)) if changed else message)
            owed = []
    if owed:
        result.append(Message("user", tuple(owed)))
    if not result:
        raise InvalidRequestError.at("messages", "no message says anything")
    if empty:
        told = f"Empty messages of the user's were left out of the request ({empty})."
        warnings.append(WarningEvent("empty_message_dropped", told))
    if alone:
        told = f"Answers that hold reasoning alone were left out of the request ({alone})."
        warnings.append(WarningEvent("unfinished_dropped", told))
    if result[-1].role == "assistant" and messages[-1].role == "user":
        result.append(Message.user(CLOSING))
    if user_begins and result[0].role == "assistant":
        result.insert(0, Message.user(OPENING))
        told = "The conversation begins with the assistant; a line of the user's was put before it."
        warnings.append(WarningEvent("opening_added", told))
    return result


@dataclass(slots=True)
class _Call:
    """A call, and what answers it."""

    block: ToolUseBlock
    turn: int
    """Counts the times that the assistant has begun to speak."""

    id: str
    """What the call and its result are named by in the request."""

    results: list[ToolResultBlock] = field(default_factory=list)
    late: bool = False
    """A result came only after the assistant had spoken again."""

    def result(self) -> ToolResultBlock:
        """The one result that goes to the provider."""
        if not self.results:
            return ToolResultBlock(self.id, UNANSWERED_CALL, is_error=True)
        texts = dict.fromkeys(each.content for each in self.results)
        return replace(self.results[-1], tool_use_id=self.id, content="\n\n".join(texts))


def _paired(messages: Sequence[Message]) -> list[list[_Call]]:
    """The calls of each message with their results.

    A result belongs to the last message before it that has a call of its id: ids may come again in a long
    conversation. Where that message has several, they are answered in order.

    Raises:
        InvalidRequestError: there is no such message.
    """
    calls: list[list[_Call]] = []
    latest: dict[str, list[_Call]] = {}
    turn = 0
    for index, message in enumerate(messages):
        if message.role == "assistant" and (index == 0 or messages[index - 1].role == "user"):
            turn += 1
        own = [_Call(block, turn, block.id) for block in message.content if isinstance(block, ToolUseBlock)]
        calls.append(own)
        if message.role == "assistant":
            latest |= _by_id(own)
            continue
        for position, block in enumerate(message.content):
            if not isinstance(block, ToolResultBlock):
                continue
            candidates = latest.get(block.tool_use_id)
            if candidates is None:
                raise InvalidRequestError.at(
                    f"messages.{index}.content.{position}.toolUseId",
                    f"no tool_use with the id {block.tool_use_id!r} comes before this result",
                )
            call = next((each for each in candidates if not each.results), candidates[-1])
            call.results.append(block)
            call.late = call.late or call.turn < turn
    return calls


def _by_id(calls: Iterable[_Call]) -> dict[str, list[_Call]]:
    found: dict[str, list[_Call]] = {}
    for call in calls:
        found.setdefault(call.block.id, []).append(call)
    return found


def _each(calls: Iterable[Iterable[_Call]]) -> Iterator[_Call]:
    for own in calls:
        yield from own


def _tell_of_results(calls: Sequence[Sequence[_Call]], warnings: list[WarningEvent]) -> None:
    if missing := sum(not call.results for call in _each(calls)):
        told = f"{missing} tool calls had no result; the model is told that they were not run."
        warnings.append(WarningEvent("tool_result_missing", told))
    if late := sum(call.late for call in _each(calls)):
        told = f"{late} tool calls were answered late; the results were put behind their calls."
        warnings.append(WarningEvent("tool_result_moved", told))
    if several := sum(len(call.results) > 1 for call in _each(calls)):
        told = f"{several} tool calls had several results; these were joined."
        warnings.append(WarningEvent("tool_results_joined", told))


def _give_each_its_own_id(calls: Sequence[Sequence[_Call]]) -> None:
    """Rename calls whose id another one has had: some servers begin to count anew in every answer."""
    taken = {call.id for call in _each(calls)}
    counts = Counter[str]()
    for call in _each(calls):
        own = call.block.id
        counts[own] += 1
        if counts[own] == 1:
            continue
        while (name := f"{own}_{counts[own]}") in taken:
            counts[own] += 1
        call.id = name
        taken.add(name)


def _with_ids(message: Message, calls: Sequence[_Call]) -> Message:
    if not calls or all(call.id == call.block.id for call in calls):
        return message
    named = iter(calls)
    return Message(
        message.role,
        tuple(
            replace(block, id=next(named).id) if isinstance(block, ToolUseBlock) else block
            for block in message.content
        ),
    )


def _says_something(message: Message) -> bool:
    """Whether an assistant's message has more than reasoning, which no provider takes alone."""
    return any(
        isinstance(block, ToolUseBlock)
        or (isinstance(block, TextBlock) and not _is_blank(block))
        or (isinstance(block, OtherBlock) and block.opaque is not None)
        for block in message.content
    )


def _is_blank(block: ContentBlock) -> bool:
    return isinstance(block, TextBlock) and (not block.text or block.text.isspace())
