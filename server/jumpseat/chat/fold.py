"""The only conversion from a turn's events to its response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import assert_never

from jumpseat.chat.blocks import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.chat.events import (
    BlockDoneEvent,
    CitationEvent,
    DoneEvent,
    ProgressEvent,
    ResponseEvent,
    RetryEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingDoneEvent,
    ThinkingStartEvent,
    ToolApprovalEvent,
    ToolStatusEvent,
    ToolUseDeltaEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    UsageEvent,
)
from jumpseat.chat.response import Response
from jumpseat.chat.usage import StopReason, Usage, add_usage
from jumpseat.chat.warning import WarningEvent


@dataclass(slots=True)
class Fold:
    """Folds a turn's events into its response, or into a partial response."""

    provider: str
    model: str
    """The requested model, or after a `ResponseEvent` the model that answers."""

    rounds: int | None = None
    """The number of rounds, including the current one; None for a turn without tools that the daemon runs."""

    _next_block: int = 0
    """The number of the next block of this round."""

    _done_blocks: dict[int, ContentBlock] = field(default_factory=dict)
    _open_text: dict[int, list[str]] = field(default_factory=dict)
    _response_id: str | None = None
    _provider_request_id: str | None = None
    _usage: Usage | None = None
    _stop_reason: StopReason | None = None
    _raw_stop_reason: str | None = None
    _warnings: list[WarningEvent] = field(default_factory=list)
    _earlier: list[ContentBlock] = field(default_factory=list)
    """The blocks of the rounds before the current one."""

    _earlier_usage: Usage | None = None
    _origin: Origin = field(init=False)
    """The requested provider and model, which become the origin of an unfinished text."""

    def __post_init__(self) -> None:
        self._origin = Origin(self.provider, self.model)

    def add(self, event: StreamEvent) -> None:
        """Add the next event."""
        match event:
            case TextDeltaEvent():
                self._open_text[event.block].append(event.text)
            case ThinkingDeltaEvent() | ToolUseDeltaEvent():
                pass  # Partial thinking and calls cannot be replayed, so only their done events count.
            case TextStartEvent():
                self._next_block = event.block + 1
                self._open_text[event.block] = []
            case TextDoneEvent():
                self._open_text.pop(event.block, None)
                self._done_blocks[event.block] = event.content
            case ThinkingDoneEvent() | ToolUseDoneEvent():
                self._done_blocks[event.block] = event.content
            case BlockDoneEvent():
                self._next_block = event.block + 1
                self._done_blocks[event.block] = event.content
            case UsageEvent():
                self._usage = event.usage
            case ResponseEvent():
                # A second response means that the provider has started its answer again.
                self._done_blocks.clear()
                self._open_text.clear()
                self._next_block = 0
                self.model = event.model or self.model
                self._response_id = event.id or self._response_id
                self._provider_request_id = event.provider_request_id or self._provider_request_id
            case WarningEvent():
                if event not in self._warnings:
                    self._warnings.append(event)
            case StartEvent():
                self.provider, self.model = event.provider, event.model
                self._origin = Origin(event.provider, event.model)
            case DoneEvent():
                self._usage = event.usage or self._usage
                self._stop_reason = event.stop_reason
                self._raw_stop_reason = event.raw_stop_reason
            case ThinkingStartEvent() | ToolUseStartEvent():
                self._next_block = event.block + 1
            case RetryEvent() | ProgressEvent() | CitationEvent() | ToolApprovalEvent() | ToolStatusEvent():
                pass  # They are not part of a response.
            case _:
                assert_never(event)

    def restart(self, provider: str, model: str) -> None:
        """Discard the blocks and usage of this round before another attempt with this provider and model."""
        fresh = Fold(
            provider,
            model,
            self.rounds,
            _warnings=self._warnings,
            _earlier=self._earlier,
            _earlier_usage=self._earlier_usage,
        )
        for each in fields(self):
            setattr(self, each.name, getattr(fresh, each.name))

    def begin_round(self) -> None:
        """Start the next round, in which decoders number the blocks from 0 again."""
        self._earlier += self.round_blocks
        self._earlier_usage = self.usage
        self._done_blocks, self._open_text, self._next_block, self._usage = {}, {}, 0, None
        self._stop_reason = self._raw_stop_reason = None
        self.rounds = (self.rounds or 0) + 1

    def add_result(self, result: ToolResultBlock) -> int:
        """Append the result of a call to this round, and return its block number in the whole content."""
        self._done_blocks[self._next_block] = result
        self._next_block += 1
        return len(self._earlier) + self._next_block - 1

    @property
    def earlier(self) -> Sequence[ContentBlock]:
        """The blocks of the rounds before the current one."""
        return self._earlier

    @property
    def round_blocks(self) -> Sequence[ContentBlock]:
        """The finished blocks of the current round, in order."""
        return [self._done_blocks[number] for number in sorted(self._done_blocks)]

    @property
    def round_usage(self) -> Usage | None:
        """The last reported token counts of the current round."""
        return self._usage

    @property
    def usage(self) -> Usage | None:
        """The sum of the last token counts reported in each round; None if there are none."""
        return add_usage(self._earlier_usage, self._usage)

    @property
    def warnings(self) -> Sequence[WarningEvent]:
        """The warnings so far, without duplicates."""
        return self._warnings

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the model stopped; None before the `DoneEvent` of the current round."""
        return self._stop_reason

    def response(self) -> Response:
        """Return the complete response, with every block in order."""
        return self._build([*self._earlier, *self.round_blocks])

    def partial(self) -> Response:
        """Return the answer so far, safe to replay: without unfinished calls and most unsigned thinking."""
        blocks = dict(self._done_blocks)
        for number, pieces in self._open_text.items():
            if pieces:
                blocks[number] = TextBlock("".join(pieces), origin=self._origin)
        content = [blocks[number] for number in sorted(blocks)]
        answered = {block.tool_use_id for block in content if isinstance(block, ToolResultBlock)}
        calls_a_tool = any(isinstance(block, ToolUseBlock) and _is_replayable(block) for block in content)
        return self._build(
            [
                *self._earlier,
                *(
                    block
                    for block in content
                    if _is_replayable(block)
                    # Keep an unreadable call that has a result: the result cannot be replayed without it.
                    or (isinstance(block, ToolUseBlock) and block.id in answered)
                    # Some chat completions servers require unsigned thinking, but only before a tool call.
                    or (calls_a_tool and isinstance(block, ThinkingBlock) and block.opaque is not None)
                ),
            ]
        )

    def _build(self, content: list[ContentBlock]) -> Response:
        return Response(
            provider=self.provider,
            model=self.model,
            content=content,
            stop_reason=self._stop_reason,
            raw_stop_reason=self._raw_stop_reason,
            response_id=self._response_id,
            provider_request_id=self._provider_request_id,
            usage=self.usage,
            warnings=tuple(self._warnings),
            rounds=self.rounds,
        )


def _is_replayable(block: ContentBlock) -> bool:
    match block:
        case TextBlock():
            return block.text != ""
        case ThinkingBlock():
            return block.signature is not None  # Anthropic rejects thinking without its signature.
        case ToolUseBlock():
            return block.arguments is not None  # A truncated call has no valid arguments.
        case RedactedThinkingBlock() | OtherBlock():
            return True
        case ImageBlock() | DocumentBlock() | ContextBlock() | ToolResultBlock():
            return True
        case _:
            assert_never(block)
