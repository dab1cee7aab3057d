"""Folding events into complete and partial responses."""

from __future__ import annotations

import pytest

from jumpseat.chat import (
    BlockDoneEvent,
    ContentBlock,
    DoneEvent,
    Fold,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    Response,
    ResponseEvent,
    StartEvent,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingBlock,
    ThinkingDeltaEvent,
    ThinkingDoneEvent,
    ThinkingStartEvent,
    ToolUseBlock,
    ToolUseDeltaEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    Usage,
    UsageEvent,
)

CALL = ToolUseBlock("c1", "grep", {"q": 1}, '{"q":1}')
UNREADABLE_CALL = ToolUseBlock("c1", "grep", None, '{"q":', "cut off")
OPAQUE_THINKING = ThinkingBlock("hm", opaque="o")


def fold_events(*events: StreamEvent) -> Fold:
    fold = Fold("p", "m")
    for event in events:
        fold.add(event)
    return fold


def test_the_events_of_a_whole_turn_become_blocks_in_order() -> None:
    response = fold_events(
        ResponseEvent("m-2025", "r1", "q1"),
        ThinkingStartEvent(0),
        ThinkingDeltaEvent(0, "hm"),
        ThinkingDoneEvent(0, ThinkingBlock("hm", "sig")),
        TextStartEvent(1),
        TextDeltaEvent(1, "Hel"),
        ToolUseStartEvent(2, "c1", "grep"),
        ToolUseDeltaEvent(2, '{"q":1}'),
        ToolUseDoneEvent(2, CALL),
        TextDeltaEvent(1, "lo"),
        TextDoneEvent(1, TextBlock("Hello")),
        UsageEvent(Usage(1, 1)),
        DoneEvent("tool_use", Usage(5, 6), "tool_calls"),
    ).response()

    assert response == Response(
        provider="p",
        model="m-2025",
        content=[ThinkingBlock("hm", "sig"), TextBlock("Hello"), CALL],
        stop_reason="tool_use",
        raw_stop_reason="tool_calls",
        response_id="r1",
        provider_request_id="q1",
        usage=Usage(5, 6),
    )
    assert (response.text, response.tool_calls) == ("Hello", [CALL])
    assert response.as_message().content == tuple(response.content)


def test_an_empty_answer_has_no_blocks() -> None:
    response = fold_events(DoneEvent("end_turn")).response()

    assert (response.content, response.text, response.tool_calls) == ([], "", [])


def test_text_blocks_are_joined_without_a_separator() -> None:
    assert Response(provider="p", model="m", content=[TextBlock("a"), CALL, TextBlock("b")]).text == "ab"


def test_the_answering_model_replaces_the_requested_one() -> None:
    fold = fold_events(
        StartEvent("q", "asked"), ResponseEvent("answering", "r1"), ResponseEvent("", None, "q9")
    )
    response = fold.response()

    assert (response.provider, response.model) == ("q", "answering")
    assert (response.response_id, response.provider_request_id) == ("r1", "q9")


def test_the_last_usage_event_replaces_earlier_ones() -> None:
    fold = fold_events(UsageEvent(Usage(1, 1)), UsageEvent(Usage(1, 9)))

    assert (fold.usage, fold.stop_reason) == (Usage(1, 9), None)


@pytest.mark.requirement("2:partial-replayable")
@pytest.mark.parametrize(
    ("events", "content"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(
            [TextStartEvent(0), TextDeltaEvent(0, "Hel"), TextDeltaEvent(0, "lo")],
            [TextBlock("Hello", origin=Origin("p", "m"))],
            id="unfinished text stays",
        ),
        pytest.param([TextStartEvent(0)], [], id="text without a delta is dropped"),
        pytest.param([TextStartEvent(0), TextDoneEvent(0, TextBlock(""))], [], id="empty text is dropped"),
        pytest.param(
            [ThinkingStartEvent(0), ThinkingDeltaEvent(0, "hm")], [], id="unfinished thinking is dropped"
        ),
        pytest.param(
            [ThinkingStartEvent(0), ThinkingDoneEvent(0, ThinkingBlock("hm"))],
            [],
            id="unsigned thinking is dropped",
        ),
        pytest.param(
            [ThinkingDoneEvent(0, ThinkingBlock("", "sig"))],
            [ThinkingBlock("", "sig")],
            id="signed thinking stays",
        ),
        pytest.param(
            [ThinkingDoneEvent(0, OPAQUE_THINKING), ToolUseDoneEvent(1, CALL)],
            [OPAQUE_THINKING, CALL],
            id="opaque thinking stays with its call",
        ),
        pytest.param(
            [
                ThinkingDoneEvent(0, OPAQUE_THINKING),
                ToolUseDoneEvent(1, UNREADABLE_CALL),
                TextDoneEvent(2, TextBlock("a")),
            ],
            [TextBlock("a")],
            id="opaque thinking without a call is dropped",
        ),
        pytest.param(
            [ToolUseStartEvent(0, "c1", "grep"), ToolUseDeltaEvent(0, '{"q":')],
            [],
            id="an unfinished call is dropped",
        ),
        pytest.param(
            [ToolUseDoneEvent(0, UNREADABLE_CALL)],
            [],
            id="an unreadable call is dropped",
        ),
        pytest.param([ToolUseDoneEvent(0, CALL)], [CALL], id="a finished call stays"),
        pytest.param(
            [BlockDoneEvent(0, RedactedThinkingBlock("xyz")), BlockDoneEvent(1, OtherBlock("search"))],
            [RedactedThinkingBlock("xyz"), OtherBlock("search")],
            id="blocks without deltas stay",
        ),
        pytest.param(
            [
                ThinkingStartEvent(0),
                TextStartEvent(1),
                TextDeltaEvent(1, "a"),
                TextDoneEvent(1, TextBlock("a")),
                TextStartEvent(2),
                TextDeltaEvent(2, "b"),
            ],
            [TextBlock("a"), TextBlock("b", origin=Origin("p", "m"))],
            id="dropped blocks do not change the order",
        ),
    ],
)
def test_a_partial_response_can_be_sent_back(events: list[StreamEvent], content: list[ContentBlock]) -> None:
    assert fold_events(*events).partial().content == content


def test_reading_the_partial_does_not_change_the_fold() -> None:
    fold = fold_events(TextStartEvent(0), TextDeltaEvent(0, "Hel"))
    assert fold.partial().text == "Hel"

    fold.add(TextDeltaEvent(0, "lo"))
    fold.add(TextDoneEvent(0, TextBlock("Hello")))

    assert fold.partial().text == fold.response().text == "Hello"


def test_a_second_response_replaces_the_first() -> None:
    fold = fold_events(
        ResponseEvent("m", "r-1"),
        TextStartEvent(0),
        TextDoneEvent(0, TextBlock("gone")),
        TextStartEvent(1),
        TextDeltaEvent(1, "gone too"),
        ResponseEvent("m", "r-2"),
    )
    assert fold.partial().content == []

    fold.add(TextStartEvent(0))
    fold.add(TextDoneEvent(0, TextBlock("kept")))

    assert (fold.response().text, fold.response().response_id) == ("kept", "r-2")
