"""The events of a turn.

Rules for every adapter (`docs/protocol/blocks.md`):

- `block` is the index of the block in the response's content. Blocks are numbered in the order of their
  start.
- The events of a text, a thinking block or a tool call are start, deltas, done. The joined deltas equal the
  text of the finished block, or the `raw` of the call. Any other block has only a `BlockDoneEvent`.
- Exactly one `DoneEvent` ends the sequence.

Adapters never create `StartEvent`, `RetryEvent`, `ToolApprovalEvent` or `ToolStatusEvent`.
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
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.chat.errors import ChatError
from jumpseat.chat.tools import ApprovalReason, FileDiff, Remember, ToolKind, ToolStatus
from jumpseat.chat.usage import StopReason, Usage
from jumpseat.chat.warning import WarningEvent


# The events are not frozen: freezing slows down construction, and an answer has thousands of deltas.
# Treat them as immutable.
@dataclass(slots=True)
class StartEvent:
    """The request is valid and is about to be sent to this provider and model."""

    type: ClassVar[str] = "start"
    provider: str
    model: str
    conversation_id: str | None = None
    """The stored conversation that contains the turn."""

    rules: Sequence[str] | None = None
    """The workspace files whose rules are in the system prompt; None if no rules were requested."""


@dataclass(slots=True)
class RetryEvent:
    """An attempt failed before any output. The next attempt starts after the delay."""

    type: ClassVar[str] = "retry"
    attempt: int
    """The number of the next attempt: 2 for the first retry."""

    max_attempts: int
    delay_ms: int
    error: ChatError


@dataclass(slots=True)
class ProgressEvent:
    """The progress of work before the answer, such as loading a model file. `percentage` is 0 to 100."""

    type: ClassVar[str] = "progress"
    message: str
    percentage: int | None = None


@dataclass(slots=True)
class ResponseEvent:
    """The provider's answer has begun. `model` is the model that answers.

    A second such event means that the answer starts again: all blocks so far are discarded, and the new ones
    are numbered from 0.
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
    """More text for a block."""

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
    """More thinking for a block."""

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
    """A tool call begins."""

    type: ClassVar[str] = "tool_use_start"
    block: int
    id: str
    name: str


@dataclass(slots=True)
class ToolUseDeltaEvent:
    """More of the raw JSON text of a tool call's arguments."""

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
    """A block of a type without deltas is complete."""

    type: ClassVar[str] = "block_done"
    block: int
    content: RedactedThinkingBlock | OtherBlock | ImageBlock | ToolResultBlock
    """A `ToolResultBlock` is the result of a tool that the daemon ran; adapters never create it."""


@dataclass(slots=True)
class CitationEvent:
    """A source that the model cites. `block` is None if the provider does not specify the citing block."""

    type: ClassVar[str] = "citation"
    block: int | None = None
    url: str | None = None
    title: str | None = None
    cited_text: str | None = None
    """The cited passage of the source."""

    text_start: int | None = None
    text_end: int | None = None
    """The range of the citing text in the block, in characters as counted by the provider."""

    location: Mapping[str, Any] | None = None
    """The place of the passage in the source: `unit`, `start`, and if known `end` and `document`."""


@dataclass(slots=True)
class ToolApprovalEvent:
    """The daemon waits for the user's decision about a tool call."""

    type: ClassVar[str] = "tool_approval"
    tool_use_id: str
    server: str
    tool: str
    title: str
    """A description of the call, in one line of at most 200 characters."""

    kind: ToolKind
    arguments: Mapping[str, Any]
    """The arguments for display: control characters are escaped and long texts are shortened."""

    reason: ApprovalReason
    remember: Sequence[Remember]
    """The allowed values for remembering the decision; empty if the daemon asks about every call."""

    diff: Sequence[FileDiff] | None = None


@dataclass(slots=True)
class ToolStatusEvent:
    """A tool call that the daemon runs has reached another status or made progress."""

    type: ClassVar[str] = "tool_status"
    tool_use_id: str
    status: ToolStatus
    message: str | None = None
    progress: float | None = None
    """The progress so far, out of `total` if that is known."""

    total: float | None = None


@dataclass(slots=True)
class UsageEvent:
    """The cumulative token counts so far."""

    type: ClassVar[str] = "usage"
    usage: Usage


@dataclass(slots=True)
class DoneEvent:
    """The last event of a turn. `error` and `content` are set only if the turn failed or was cancelled.

    An adapter may omit `usage` if a `UsageEvent` has reported it, or if the provider does not report any.
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
    | ToolApprovalEvent
    | ToolStatusEvent
    | UsageEvent
    | DoneEvent
)

BLOCK_EVENTS: tuple[type[BlockEvent], ...] = get_args(BlockEvent)
"""The events that carry output of the model. After one of them, the attempt is not retried."""


def merge_deltas(events: Iterable[StreamEvent]) -> list[StreamEvent]:
    """Join consecutive deltas of one block, and keep all other events in order.

    Joining does not delay any event, because all of them have already arrived.
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
            # Any other event, or another block, ends a run, so that the order of events does not change.
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
