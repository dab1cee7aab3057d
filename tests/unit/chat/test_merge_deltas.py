"""Joining adjacent deltas loses no text and preserves the order."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from jumpseat.chat import (
    DoneEvent,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ToolUseDeltaEvent,
    UsageEvent,
    merge_deltas,
)

DELTAS = (TextDeltaEvent, ThinkingDeltaEvent, ToolUseDeltaEvent)

blocks = st.integers(0, 2)
streams = st.lists(
    st.one_of(
        st.builds(TextDeltaEvent, blocks, st.text()),
        st.builds(ThinkingDeltaEvent, blocks, st.text()),
        st.builds(ToolUseDeltaEvent, blocks, st.text()),
        st.builds(TextStartEvent, blocks),
        st.builds(TextDoneEvent, blocks, st.builds(TextBlock, st.text())),
        st.builds(UsageEvent, st.none()),
        st.just(DoneEvent("end_turn")),
    ),
    max_size=40,
)


def key(event: StreamEvent) -> tuple[type, int] | None:
    """Return a key that deltas share if they may be joined, or None for other events."""
    return (type(event), event.block) if isinstance(event, DELTAS) else None


def piece(event: StreamEvent) -> str:
    return event.argument_delta if isinstance(event, ToolUseDeltaEvent) else event.text


def join_deltas(stream: list[StreamEvent]) -> list[object]:
    """Normalise a stream: join each run of deltas, and copy all other events."""
    found: list[object] = []
    for same, run in itertools.groupby(stream, key):
        events = list(run)
        found += events if same is None else [(same, "".join(map(piece, events)))]
    return found


@given(streams)
def test_concatenation_and_order_are_preserved(stream: list[StreamEvent]) -> None:
    assert join_deltas(merge_deltas(stream)) == join_deltas(stream)


@given(streams)
def test_neighbouring_deltas_of_one_block_are_always_merged(stream: list[StreamEvent]) -> None:
    merged = merge_deltas(stream)

    assert all(key(one) is None or key(one) != key(other) for one, other in itertools.pairwise(merged))


@given(streams)
def test_merging_twice_is_merging_once(stream: list[StreamEvent]) -> None:
    assert merge_deltas(merge_deltas(stream)) == merge_deltas(stream)


def test_the_given_events_are_not_changed() -> None:
    first, second = TextDeltaEvent(0, "a"), TextDeltaEvent(0, "b")

    assert merge_deltas([first, second]) == [TextDeltaEvent(0, "ab")]
    assert (first.text, second.text) == ("a", "b")
