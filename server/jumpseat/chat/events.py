"""What happens while a model answers.

A turn is a sequence of these. Laws, which the fold and every adapter keep (section 2 of the protocol
page): `block` numbers rise in first-seen order and index the response's content; for one block, start
comes before its deltas and they before done; deltas concatenated equal the done block's text (or `raw`);
exactly one `DoneEvent` ends the sequence.

An adapter yields everything but `StartEvent` and `RetryEvent`, which are the turn engine's.
Deltas are made by the ten thousand, so they are plain slotted objects: treat all of these as immutable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, get_args

from jumpseat.chat.blocks import (
    ContentBlock,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from jumpseat.chat.errors import ChatError
from jumpseat.chat.usage import StopReason, Usage
from jumpseat.chat.warning import WarningEvent


@dataclass(slots=True)
class StartEvent:
    """The request is valid and goes to this provider and model; nothing was sent yet."""

    type: ClassVar[str] = "start"
    provider: str
    model: str


@dataclass(slots=True)
class RetryEvent:
    """An attempt failed before any output; the next one starts after the delay."""

    type: ClassVar[str] = "retry"
    attempt: int
    max_attempts: int
    delay_ms: int
    error: ChatError


@dataclass(slots=True)
class ProgressEvent:
    """A wait that is not the model's: loading a model file, say. `percentage` is 0 to 100."""

    type: ClassVar[str] = "progress"
    message: str
    percentage: int | None = None


@dataclass(slots=True)
class ResponseEvent:
    """The provider's answer has begun; `model` is the one that really answers.

    A second one in a turn takes the place of what came before: the blocks so far are void, and those that
    follow are numbered from 0 again.
    """

    type: ClassVar[str] = "response"
    model: str
    id: str | None = None
    provider_request_id: str | None = None


@dataclass(slots=True)
class TextStartEvent:
    """A text block begins."""

    type: ClassVar[str] = "text_start"
    block: int


@dataclass(slots=True)
class TextDeltaEvent:
    """More text of a block."""

    type: ClassVar[str] = "text_delta"
    block: int
    text: str


@dataclass(slots=True)
class TextDoneEvent:
    """A text block is complete."""

    type: ClassVar[str] = "text_done"
    block: int
    content: TextBlock


@dataclass(slots=True)
class ThinkingStartEvent:
    """A thinking block begins."""

    type: ClassVar[str] = "thinking_start"
    block: int


@dataclass(slots=True)
class ThinkingDeltaEvent:
    """More reasoning of a block."""

    type: ClassVar[str] = "thinking_delta"
    block: int
    text: str


@dataclass(slots=True)
class ThinkingDoneEvent:
    """A thinking block is complete, with its signature if it has one."""

    type: ClassVar[str] = "thinking_done"
    block: int
    content: ThinkingBlock


@dataclass(slots=True)
class ToolUseStartEvent:
    """The model begins to call a tool."""

    type: ClassVar[str] = "tool_use_start"
    block: int
    id: str
    name: str


@dataclass(slots=True)
class ToolUseDeltaEvent:
    """More of the raw JSON text of a call's arguments."""

    type: ClassVar[str] = "tool_use_delta"
    block: int
    argument_delta: str


@dataclass(slots=True)
class ToolUseDoneEvent:
    """A tool call is complete."""

    type: ClassVar[str] = "tool_use_done"
    block: int
    content: ToolUseBlock


@dataclass(slots=True)
class BlockDoneEvent:
    """A block that has no deltas came whole."""

    type: ClassVar[str] = "block_done"
    block: int
    content: RedactedThinkingBlock | OtherBlock


@dataclass(slots=True)
class CitationEvent:
    """A source the model names, for a block if the provider says which."""

    type: ClassVar[str] = "citation"
    block: int | None = None
    url: str | None = None
    title: str | None = None


@dataclass(slots=True)
class UsageEvent:
    """Tokens so far: a cumulative snapshot, never an increment."""

    type: ClassVar[str] = "usage"
    usage: Usage


@dataclass(slots=True)
class DoneEvent:
    """The end, always and once. `error` and `content` stand where the turn ends in an error.

    An adapter may leave `usage` out if a `UsageEvent` reported it, or if the provider reported none.
    """

    type: ClassVar[str] = "done"
    stop_reason: StopReason
    usage: Usage | None = None
    raw_stop_reason: str | None = None
    error: ChatError | None = None
    content: Sequence[ContentBlock] | None = None


BlockEvent: TypeAlias = (
    TextStartEvent
    | TextDeltaEvent
    | TextDoneEvent
    | ThinkingStartEvent
    | ThinkingDeltaEvent
    | ThinkingDoneEvent
    | ToolUseStartEvent
    | ToolUseDeltaEvent
    | ToolUseDoneEvent
    | BlockDoneEvent
)

StreamEvent: TypeAlias = (
    StartEvent
    | RetryEvent
    | ProgressEvent
    | ResponseEvent
    | WarningEvent
    | BlockEvent
    | CitationEvent
    | UsageEvent
    | DoneEvent
)

BLOCK_EVENTS: tuple[type[BlockEvent], ...] = get_args(BlockEvent)
"""The events that are output of the model: after one of these an attempt is not repeated."""


def merge_deltas(events: Iterable[StreamEvent]) -> list[StreamEvent]:
    """The same events with neighbouring deltas of one block joined, the order untouched.

    Used on the events of one upstream read: they arrived together, so joining them delays nothing.
    """
    merged: list[StreamEvent] = []
    run: list[str] = []
    first: TextDeltaEvent | ThinkingDeltaEvent | ToolUseDeltaEvent | None = None

    def close_run() -> None:
        if first is None:
            return
        if len(run) == 1:
            merged.append(first)
        elif isinstance(first, ToolUseDeltaEvent):
            merged.append(ToolUseDeltaEvent(first.block, "".join(run)))
        else:
            merged.append(type(first)(first.block, "".join(run)))

    for event in events:
        if isinstance(event, TextDeltaEvent | ThinkingDeltaEvent | ToolUseDeltaEvent):
            piece = event.argument_delta if isinstance(event, ToolUseDeltaEvent) else event.text
            if first is not None and type(first) is type(event) and first.block == event.block:
                run.append(piece)
                continue
            close_run()
            first, run = event, [piece]
        else:
            close_run()
            first = None
            merged.append(event)
    close_run()
    return merged
