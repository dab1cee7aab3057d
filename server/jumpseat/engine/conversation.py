"""Checks a client's messages and arranges them in the form that one provider and model accept.

The constructor checks each message, drops the data of other models and pairs tool calls with results. An
answer that contains the results of tools that the daemon ran is split into the messages of its rounds.
`arrange` puts every result directly after its call, drops empty messages and makes the ids of calls unique.
If the provider requires a user message at the start, `arrange` inserts one. The dialects join consecutive
messages of one role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    InvalidRequestError,
    Message,
    Origin,
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
from jumpseat.engine.refusals import Refusals
from jumpseat.engine.tool_calls import ToolCalls, rename_calls

OPENING = "(The assistant speaks first.)"
"""The user message that is inserted before a conversation that starts with an assistant message."""

CLOSING = "Go on."
"""The user message that is appended if the client's last message was empty, or had only results that were
moved to calls of earlier answers."""


class Conversation:
    """The messages of a turn for one provider and model."""

    def __init__(
        self, messages: Iterable[Message], origin: Origin | None = None, refusals: Refusals | None = None
    ) -> None:
        """Read and check the messages in one pass.

        Args:
            messages: the conversation, oldest first.
            origin: the provider and model of the request; None preserves the data of every model.
            refusals: blocks that this model has refused; each is sent in a form that the model accepts, or
                left out.

        Raises:
            InvalidRequestError: a block is in a message of the wrong role, or no call precedes a tool
                result.
        """
        self.has_images = False
        self.documents: list[DocumentBlock] = []
        self._origin = origin
        self._refusals = refusals
        self._messages: list[Message] = []
        self._calls = ToolCalls()
        self._misplaced: list[Problem] = []
        self._foreign = 0
        for index, message in enumerate(messages):
            has_rounds = self._check_roles(message, index)
            readable = message if origin is None else self._drop_unreadable(message, origin)
            position = 0
            for part in split_rounds(readable) if has_rounds else (readable,):
                self._calls.add(part, index, position)
                self._messages.append(part)
                position += len(part.content)
        if self._misplaced:
            first = self._misplaced[0]
            raise InvalidRequestError(f"{first.path}: {first.message}.", self._misplaced)
        if self._calls.orphan is not None:
            raise InvalidRequestError.at(self._calls.orphan.path, self._calls.orphan.message)

    def _check_roles(self, message: Message, index: int) -> bool:
        """Record the images, documents and misplaced blocks of a message.

        Return whether the message is an answer with tool results.
        """
        has_rounds = False
        for position, block in enumerate(message.content):
            role: Role
            match block:
                case TextBlock():
                    continue  # Both roles may contain text.
                case ToolUseBlock() | ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
                    role = "assistant"
                case ToolResultBlock():
                    has_rounds = has_rounds or message.role == "assistant"
                    continue
                case ContextBlock():
                    role = "user"
                case ImageBlock():
                    # Only the user's images require vision; generated ones are replaced if necessary.
                    self.has_images = self.has_images or message.role == "user"
                    continue
                case DocumentBlock():
                    role = "user"
                    self.documents.append(block)
                case _:
                    assert_never(block)
            if role != message.role:
                path = f"messages.{index}.content.{position}"
                problem = f"a {message.role} message cannot contain a block of the type {block.type!r}"
                self._misplaced.append(Problem(path, problem))
        return has_rounds

    def _drop_unreadable(self, message: Message, origin: Origin) -> Message:
        """Return the message without data that this model refused or that only another model can read."""
        kept: list[ContentBlock] = []
        is_changed = False
        for given in message.content:
            block = self._refusals.apply(given, origin) if self._refusals else given
            if block.origin is None or block.origin == origin:
                is_changed = is_changed or block is not given
                kept.append(block)
                continue
            match block:
                case ThinkingBlock() | RedactedThinkingBlock():
                    is_changed = True
                    self._foreign += 1
                case (
                    TextBlock()
                    | ImageBlock()
                    | DocumentBlock()
                    | ContextBlock()
                    | ToolUseBlock()
                    | ToolResultBlock()
                    | OtherBlock()
                ):
                    if block.opaque is not None:
                        block = replace(block, opaque=None)
                        self._foreign += 1
                    is_changed = is_changed or block is not given
                    kept.append(block)
                case _:
                    assert_never(block)
        return Message(message.role, tuple(kept)) if is_changed else message

    def arrange(self, warnings: list[WarningEvent], *, user_begins: bool = True) -> list[Message]:
        """Return the messages to send.

        Args:
            warnings: receives a warning for each kind of change.
            user_begins: whether the provider requires the first message to be a user message. Bedrock and the
                templates of Mistral and Gemma models do; the endpoints of OpenAI and Anthropic do not.

        Raises:
            InvalidRequestError: all messages are empty.
        """
        if self._foreign:
            message = (
                "Reasoning or opaque data of another model was left out of the request "
                f"({self._foreign} blocks)."
            )
            warnings.append(WarningEvent("foreign_data_dropped", message))
        warnings += self._calls.warnings()
        # Anthropic's API rejects repeated ids.
        self._calls.make_ids_unique()
        result = self._place_results(warnings)
        # If the client's last message was empty, or its results were moved to earlier calls, the list ends
        # with an assistant message. The model must still answer.
        if result[-1].role == "assistant" and self._messages[-1].role == "user":
            result.append(Message.user(CLOSING))
        if user_begins and result[0].role == "assistant":
            result.insert(0, Message.user(OPENING))
            added = "The conversation begins with the assistant; a user message was added before it."
            warnings.append(WarningEvent("opening_added", added))
        return result

    def _place_results(self, warnings: list[WarningEvent]) -> list[Message]:
        """Return the non-empty messages, with each call's result in the following user message."""
        result: list[Message] = []
        pending: list[ContentBlock] = []
        empty = reasoning_alone = 0
        for index, message in enumerate(self._messages):
            if message.role == "assistant":
                # Reasoning alone is not an answer, and Anthropic's API rejects an empty message.
                if not any(map(_can_stand_alone, message.content)):
                    reasoning_alone += any(
                        isinstance(block, ThinkingBlock | RedactedThinkingBlock) for block in message.content
                    )
                    continue
                if pending:
                    result.append(Message("user", tuple(pending)))
                calls = self._calls.by_message[index]
                result.append(rename_calls(message, calls))
                # Chat completions and Anthropic's API reject a call whose result does not follow directly.
                # The Responses API rejects a call without a result.
                pending = [call.join_results() for call in calls]
                continue
            others = [block for block in message.content if not isinstance(block, ToolResultBlock)]
            content = [block for block in others if not _is_blank(block)]
            empty += not content and len(others) == len(message.content)
            if pending or content:
                is_changed = pending or len(content) != len(message.content)
                result.append(Message("user", (*pending, *content)) if is_changed else message)
                pending = []
        if pending:
            result.append(Message("user", tuple(pending)))
        if not result:
            raise InvalidRequestError.at("messages", "all messages are empty")
        if empty:
            dropped = f"Empty user messages were left out of the request ({empty})."
            warnings.append(WarningEvent("empty_message_dropped", dropped))
        if reasoning_alone:
            dropped = f"Answers that contain only reasoning were left out of the request ({reasoning_alone})."
            warnings.append(WarningEvent("unfinished_dropped", dropped))
        return result


def split_rounds(message: Message) -> Iterator[Message]:
    """Split an answer at the results of its calls, which providers expect in user messages."""
    for is_result, run in groupby(message.content, lambda block: isinstance(block, ToolResultBlock)):
        yield Message("user" if is_result else "assistant", tuple(run))


def _can_stand_alone(block: ContentBlock) -> bool:
    """Whether providers accept an assistant message that consists only of this block."""
    match block:
        case TextBlock():
            return not _is_blank(block)
        case ToolUseBlock():
            return True
        case OtherBlock():
            return block.opaque is not None
        case ImageBlock():
            return True
        case ThinkingBlock() | RedactedThinkingBlock():
            return False
        case DocumentBlock() | ContextBlock() | ToolResultBlock():
            return False  # These are allowed only in a user message.
        case _:
            assert_never(block)


def _is_blank(block: ContentBlock) -> bool:
    return isinstance(block, TextBlock) and (not block.text or block.text.isspace())
