"""The assertions about responses, usage and events; `test_contract` also tests those about events."""

from dataclasses import replace

import pytest

from jumpseat.chat import (
    BlockDoneEvent,
    DoneEvent,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    Response,
    ResponseEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingStartEvent,
    ToolUseBlock,
    Usage,
)
from jumpseat.testing import assert_laws, assert_response, assert_usage

ORIGIN = Origin("p", "m")
TEXT = TextBlock("Hi", origin=ORIGIN)
CALL = ToolUseBlock("c1", "f", {}, "", origin=ORIGIN)
GOOD = Response(provider="p", model="real-m", content=[TEXT, CALL, TEXT], stop_reason="tool_use")


def test_a_valid_response_passes():
    assert_response(GOOD, provider="p", model="m")
    assert_response(replace(GOOD, content=[]), provider="p", model="m")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"content": "Hi"}, "content is a str"),
        ({"content": None}, "content is a NoneType"),
        ({"content": [{"type": "text"}]}, r"content\[0\] is a dict, which is not a block"),
        ({"content": [replace(TEXT, origin=None)]}, r"content\[0\] \(text\) has no origin"),
        ({"content": [replace(TEXT, origin=Origin("p", "real-m"))]}, "names the origin"),
        ({"content": [replace(CALL, id="")]}, "a call without an id"),
        ({"content": [replace(CALL, name="", error="It has no name.")]}, "has no tool name"),
        ({"content": [CALL, TEXT, CALL]}, "each must be unique within one answer"),
        ({"content": [replace(CALL, raw={})]}, "raw is the text of the arguments"),
        ({"content": [replace(CALL, arguments=None)]}, "neither arguments nor an error"),
        ({"stop_reason": "length"}, "has the stop reason 'length'"),
        ({"stop_reason": None}, "has the stop reason None"),
        ({"stop_reason": "cancelled"}, "has the stop reason 'cancelled'"),
        ({"provider": "q"}, "provider is 'q'"),
        ({"model": ""}, "model is empty"),
        ({"usage": Usage(input_tokens=-1)}, "the count -1"),
    ],
)
def test_an_invalid_response_fails_with_a_sentence(changes, sentence):
    with pytest.raises(AssertionError, match=sentence):
        assert_response(replace(GOOD, **changes), provider="p", model="m")


def test_a_text_or_calls_that_do_not_match_the_blocks_fail():
    class Other(Response):
        text = "Other"

    class Fewer(Response):
        tool_calls = ()

    for cls, sentence in ((Other, "text is 'Other'"), (Fewer, "tool_calls are not")):
        with pytest.raises(AssertionError, match=sentence):
            assert_response(
                cls(provider="p", model="m", content=[TEXT, CALL], stop_reason="end_turn"),
                provider="p",
                model="m",
            )


@pytest.mark.parametrize(
    "usage",
    [
        Usage(input_tokens=5, cache_read_tokens=3, cache_creation_tokens=3),
        Usage(output_tokens=5, reasoning_tokens=6),
        Usage(input_tokens=1.5),
        Usage(output_tokens=True),
    ],
)
def test_usage_that_contradicts_itself_fails(usage):
    with pytest.raises(AssertionError, match="usage"):
        assert_usage(usage)


def test_a_second_answer_replaces_the_first():
    first = [ResponseEvent("m"), TextStartEvent(0), TextDeltaEvent(0, "Ha")]
    second = [ResponseEvent("m"), TextStartEvent(0), TextDeltaEvent(0, "Hi"), TextDoneEvent(0, TEXT)]
    assert_laws([*first, *second, DoneEvent("end_turn")])


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        ([TextStartEvent(0), ThinkingStartEvent(1)], "before block 0 is done"),
        ([TextStartEvent(0), DoneEvent("end_turn")], r"while blocks \[0\] are still open"),
        ([TextStartEvent(0), TextDeltaEvent(0, "")], "is empty"),
        ([ThinkingStartEvent(0), TextDeltaEvent(0, "Hi")], "belongs to a block that started as thinking"),
        ([BlockDoneEvent(0, TEXT)], "contains a TextBlock, which has events of its own"),
        ([BlockDoneEvent(0, RedactedThinkingBlock("x"))], "without an origin"),
        ([BlockDoneEvent(1, OtherBlock("x", origin=ORIGIN))], "has the block number 1"),
        ([], "the last of 0 events is not done"),
    ],
)
def test_events_out_of_order_fail_with_a_sentence(events, sentence):
    with pytest.raises(AssertionError, match=sentence):
        assert_laws(events)


def test_an_attempt_that_failed_may_leave_blocks_open():
    assert_laws([ResponseEvent("m"), TextStartEvent(0), TextDeltaEvent(0, "Ha")], ended=False)
