"""The events of a turn.

Laws for every adapter (section 2 of the protocol page):

- `block` numbers rise in first-seen order and index the response's content.
- The events of one block are start, deltas, done. The joined deltas equal the done block's text (or `raw`).
- Exactly one `DoneEvent` ends the sequence.

The engine alone makes `StartEvent` and `RetryEvent`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, get_args

from jumpseat.chat.blocks import (
    ContentBlock,
    ImageBlock,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from jumpseat.chat.errors import ChatError
from jumpseat.chat.usage import StopReason, Usage
from jumpseat.chat.warning import WarningEvent


# The events are not frozen because freezing makes construction slow, and an answer has thousands of deltas.
# Treat them as immutable.
@dataclass(slots=True)
class StartEvent:
    """The request is valid and will be sent to this provider and model."""

    type: ClassVar[str] = "start"
    provider: str
    model: str
    conversation_id: str | None = None
    """The kept conversation that has the turn."""


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
    """Progress of work before the answer, such as loading a model file. `percentage` is 0 to 100."""

    type: ClassVar[str] = "progress"
    message: str
    percentage: int | None = None


@dataclass(slots=True)
class ResponseEvent:
    """The provider's answer has begun; `model` is the model that answers.

    A second one in a turn discards all blocks so far; the numbers start from 0 again.
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
    """A complete block of a type without deltas."""

    type: ClassVar[str] = "block_done"
    block: int
    content: RedactedThinkingBlock | OtherBlock | ImageBlock


@dataclass(slots=True)
class CitationEvent:
    """A source that the model cites; `block` is None if the provider does not say which block cites it."""

    type: ClassVar[str] = "citation"
    block: int | None = None
    url: str | None = None
    title: str | None = None
    cited_text: str | None = None
    """The passage of the source."""

    text_start: int | None = None
    text_end: int | None = None
    """The part of the block's text, in characters as the provider counts them."""

    location: Mapping[str, Any] | None = None
    """The place of the passage in the source: `unit`, `start`, and `end` and `document` if they are known."""


@dataclass(slots=True)
class UsageEvent:
    """The tokens so far: cumulative, not an increment."""

    type: ClassVar[str] = "usage"
    usage: Usage


@dataclass(slots=True)
class DoneEvent:
    """The last event of a turn. `error` and `content` are set only if the turn failed.

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
"""The events that are output of the model: after one of these an attempt is not retried."""


def merge_deltas(events: Iterable[StreamEvent]) -> list[StreamEvent]:
    """The same events in the same order, with consecutive deltas of one block joined.

    Used on the events of one upstream read, so joining them delays nothing.
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
            # A run ends at any other event or block, so the order of events does not change.
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
