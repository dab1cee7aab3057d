"""Assertions for the laws of events and for the shape of a response.

`docs/protocol/blocks.md` and the docstrings of `chat/events.py` and `chat/response.py` describe both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never, get_args

from jumpseat.chat import (
    BLOCK_CLASSES,
    BlockDoneEvent,
    CitationEvent,
    DoneEvent,
    ImageBlock,
    OtherBlock,
    ProgressEvent,
    RedactedThinkingBlock,
    Response,
    ResponseEvent,
    RetryEvent,
    StartEvent,
    StopReason,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingBlock,
    ThinkingDeltaEvent,
    ThinkingDoneEvent,
    ThinkingStartEvent,
    ToolApprovalEvent,
    ToolStatusEvent,
    ToolUseBlock,
    ToolUseDeltaEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)

FINAL_STOP_REASONS = tuple(
    each for each in get_args(StopReason) if each not in ("cancelled", "error", "max_rounds")
)

_CONTENT = {
    TextDoneEvent: (TextBlock, "text"),
    ThinkingDoneEvent: (ThinkingBlock, "thinking"),
    ToolUseDoneEvent: (ToolUseBlock, "raw"),
}


def check(holds: object, sentence: str) -> None:
    """Fail with the sentence unless the condition holds.

    Raises:
        AssertionError: the condition is false.
    """
    if not holds:
        raise AssertionError(sentence)


class _Laws:
    """The state after the events checked so far."""

    def __init__(self) -> None:
        self.open: dict[int, tuple[str, list[str]]] = {}
        """The kind and the deltas of each open block, by the number of the block."""

        self.seen = 0
        """The number of blocks that have started."""

        self.prose: int | None = None
        """The number of the open text or thinking block, of which there may be only one."""

        self.done = False

    def restart(self) -> None:
        """Start a new response, which discards the earlier blocks."""
        self.open, self.seen, self.prose = {}, 0, None

    def take(self, event: StreamEvent, at: str) -> None:
        """Check the next event. `at` is its name in failure messages."""
        check(not self.done, f"{at} comes after done, which must be the last event.")
        match event:
            case TextStartEvent() | ThinkingStartEvent() | ToolUseStartEvent():
                self._start(event, at)
            case TextDeltaEvent() | ThinkingDeltaEvent() | ToolUseDeltaEvent():
                self._add_delta(event, at)
            case TextDoneEvent() | ThinkingDoneEvent() | ToolUseDoneEvent():
                self._finish(event, at)
            case BlockDoneEvent():
                self._expect_next_number(event.block, at)
                check(self.prose is None, f"{at} comes while block {self.prose} is still open.")
                whole = isinstance(event.content, RedactedThinkingBlock | OtherBlock | ImageBlock)
                check(whole, f"{at} contains a {_class_name(event.content)}, which has events of its own.")
                check(event.content.origin is not None, f"{at} contains a block without an origin.")
            case UsageEvent():
                assert_usage(event.usage, at)
            case ResponseEvent():
                self.restart()
            case DoneEvent():
                check(not self.open, f"{at} comes while blocks {sorted(self.open)} are still open.")
                _check_stop_reason(event.stop_reason, at)
                self.done = True
            case StartEvent() | RetryEvent() | ToolApprovalEvent() | ToolStatusEvent():
                raise AssertionError(f"{at} is an event of the turn engine, not of an adapter.")
            case ProgressEvent() | WarningEvent() | CitationEvent():
                pass  # These are allowed anywhere before done.
            case _:
                assert_never(event)

    def _expect_next_number(self, block: int, at: str) -> None:
        check(block == self.seen, f"{at} has the block number {block}; the next one is {self.seen}.")
        self.seen += 1

    def _start(self, event: TextStartEvent | ThinkingStartEvent | ToolUseStartEvent, at: str) -> None:
        self._expect_next_number(event.block, at)
        check(self.prose is None, f"{at} comes before block {self.prose} is done.")
        if not isinstance(event, ToolUseStartEvent):
            self.prose = event.block
        self.open[event.block] = (_block_kind(event), [])

    def _add_delta(self, event: TextDeltaEvent | ThinkingDeltaEvent | ToolUseDeltaEvent, at: str) -> None:
        kind, pieces = self._find_open_block(event, at)
        check(kind == _block_kind(event), f"{at} belongs to a block that started as {kind}.")
        piece = event.argument_delta if isinstance(event, ToolUseDeltaEvent) else event.text
        check(piece != "", f"{at} is empty.")
        pieces.append(piece)

    def _finish(self, event: TextDoneEvent | ThinkingDoneEvent | ToolUseDoneEvent, at: str) -> None:
        kind, pieces = self._find_open_block(event, at)
        check(kind == _block_kind(event), f"{at} belongs to a block that started as {kind}.")
        del self.open[event.block]
        cls, field = _CONTENT[type(event)]
        check(
            type(event.content) is cls, f"{at} contains a {_class_name(event.content)}, not a {cls.__name__}."
        )
        whole = getattr(event.content, field)
        check("".join(pieces) == whole, f"{at} says {whole!r}, but its deltas join to {''.join(pieces)!r}.")
        check(event.content.origin is not None, f"{at} contains a block without an origin.")
        self.prose = None if event.block == self.prose else self.prose

    def _find_open_block(self, event: Any, at: str) -> tuple[str, list[str]]:
        block = self.open.get(event.block)
        if block is None:
            state = "was done already" if event.block < self.seen else "never started"
            raise AssertionError(f"{at} belongs to block {event.block}, which {state}.")
        return block


def assert_laws(events: Sequence[StreamEvent], *, ended: bool = True) -> None:
    """Assert that the events of an answer obey the laws:

    - Blocks are numbered in order, without gaps.
    - A block of text, thinking or a tool call has its start event, then its deltas, then its done event.
    - The deltas of a block join to its content.
    - There is one `done` event, and it is the last event.

    Args:
        events: all events of one `stream`, from the first.
        ended: whether the answer is complete. After a failure or a cancel, there is no `done` event, and
            blocks may be open.

    Raises:
        AssertionError: an event breaks a law; the message names the event.
    """
    laws = _Laws()
    for position, event in enumerate(events):
        laws.take(event, f"event {position} ({type(event).type})")
    if ended:
        check(laws.done, f"the last of {len(events)} events is not done, which ends every answer.")


def assert_usage(usage: Usage, at: str = "usage") -> None:
    """Assert that no count is negative, that input includes cached input, and that output includes reasoning.

    Raises:
        AssertionError: the counts contradict each other.
    """
    counts = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_creation_tokens]
    for count in counts:
        check(
            type(count) is int and count >= 0, f"{at}: the count {count!r} is not an integer of at least 0."
        )
    cached = usage.cache_read_tokens + usage.cache_creation_tokens
    check(
        usage.input_tokens >= cached,
        f"{at}: {usage.input_tokens} input tokens cannot include {cached} cached ones, as they must.",
    )
    check(
        usage.output_tokens >= (usage.reasoning_tokens or 0),
        f"{at}: {usage.output_tokens} output tokens cannot include {usage.reasoning_tokens} of reasoning.",
    )


def assert_response(response: Response, *, provider: str, model: str) -> None:
    """Assert that a response has the right shape: blocks with their origins, and the text as a string.

    Args:
        response: the response to a chat.
        provider: the adapter's `provider_name`.
        model: the model's name in the request.

    Raises:
        AssertionError: the shape is wrong; the message names the place.
    """
    content: Any = response.content
    check(
        isinstance(content, list | tuple),
        f"content is a {type(content).__name__}; it is always a list of blocks, which may be empty.",
    )
    for number, block in enumerate(content):
        check(
            isinstance(block, BLOCK_CLASSES),
            f"content[{number}] is a {_class_name(block)}, which is not a block.",
        )
        origin = block.origin
        check(origin is not None, f"content[{number}] ({block.type}) has no origin.")
        named = (origin.provider, origin.model)
        check(
            named == (provider, model),
            f"content[{number}] ({block.type}) names the origin {named} instead of {(provider, model)}.",
        )
        if isinstance(block, ToolUseBlock):
            _check_tool_call(block, f"content[{number}]")
    text = "".join(block.text for block in content if isinstance(block, TextBlock))
    check(response.text == text, f"text is {response.text!r}, but the text blocks join to {text!r}.")
    calls = [block for block in content if isinstance(block, ToolUseBlock)]
    ids = [block.id for block in calls]
    check(
        len(set(ids)) == len(ids), f"the ids of the calls are {ids}; each must be unique within one answer."
    )
    check(list(response.tool_calls) == calls, "tool_calls are not the tool_use blocks of content.")
    _check_stop_reason(response.stop_reason, "the response")
    check(response.provider == provider, f"provider is {response.provider!r}, not {provider!r}.")
    check(response.model, "model is empty; it must name the model that answered.")
    if response.usage is not None:
        assert_usage(response.usage)
    check(tuple(response.as_message().content) == tuple(content), "as_message() changes the content.")


def _check_tool_call(block: ToolUseBlock, at: str) -> None:
    check(
        block.id, f"{at} is a call without an id; if the provider sends none, the adapter must generate one."
    )
    check(block.name, f"{at} has no tool name; a call without a name must be dropped with a warning.")
    check(
        isinstance(block.raw, str), f"{at}.raw is the text of the arguments, not a {_class_name(block.raw)}."
    )
    readable = block.arguments is not None
    check(readable or block.error, f"{at} has neither arguments nor an error that says why.")


def _check_stop_reason(reason: Any, at: str) -> None:
    check(
        reason in FINAL_STOP_REASONS,
        f"{at} has the stop reason {reason!r}, which is not one of {', '.join(FINAL_STOP_REASONS)}.",
    )


def _block_kind(event: StreamEvent) -> str:
    return type(event).type.rpartition("_")[0]


def _class_name(value: object) -> str:
    return type(value).__name__
