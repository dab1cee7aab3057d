"""The laws of events, as an assertion that every dialect's tests share."""

from jumpseat.chat import (
    BlockDoneEvent,
    DoneEvent,
    ResponseEvent,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingDoneEvent,
    ThinkingStartEvent,
    ToolUseDeltaEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
)

STARTS = (TextStartEvent, ThinkingStartEvent, ToolUseStartEvent)
DELTAS = (TextDeltaEvent, ThinkingDeltaEvent, ToolUseDeltaEvent)
DONES = (TextDoneEvent, ThinkingDoneEvent, ToolUseDoneEvent)


def piece_of(event):
    return event.argument_delta if isinstance(event, ToolUseDeltaEvent) else event.text


def whole_of(block):
    return {"text": "text", "thinking": "thinking", "tool_use": "raw"}[block.type]


def assert_laws(events, *, ended=True):
    """Numbers rise; start < deltas < done for a block; deltas join to the whole; done is last, once."""
    open_blocks, seen, prose = {}, 0, None
    for position, event in enumerate(events):
        if isinstance(event, STARTS):
            assert event.block == seen
            seen += 1
            assert prose is None, "whatever starts closes text and thinking first"
            if not isinstance(event, ToolUseStartEvent):
                prose = event.block
            open_blocks[event.block] = (type(event).__name__[:4], [])
        elif isinstance(event, DELTAS):
            kind, pieces = open_blocks[event.block]
            assert kind == type(event).__name__[:4]
            assert piece_of(event)
            pieces.append(piece_of(event))
        elif isinstance(event, DONES):
            kind, pieces = open_blocks.pop(event.block)
            assert kind == type(event).__name__[:4]
            assert "".join(pieces) == getattr(event.content, whole_of(event.content))
            assert event.content.origin is not None
            prose = None if event.block == prose else prose
        elif isinstance(event, BlockDoneEvent):
            assert prose is None
            assert event.block == seen
            seen += 1
        elif isinstance(event, ResponseEvent):
            open_blocks, seen, prose = {}, 0, None  # What came before, if anything did, is void.
        elif isinstance(event, DoneEvent):
            assert position == len(events) - 1
    if ended:
        assert isinstance(events[-1], DoneEvent)
        assert not open_blocks
