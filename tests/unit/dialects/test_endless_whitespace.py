"""Tool calls with endless whitespace, which some models write until their token limit."""

from __future__ import annotations

import json

import pytest

from jumpseat.chat import DoneEvent, ToolUseDoneEvent, WarningEvent
from jumpseat.dialects.assembly import MAX_WHITESPACE
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.dialects.responses import ResponsesDecoder
from jumpseat.testing import assert_laws
from tests.unit.dialects.chat_completions.answers import chunk, decode_chunks, select_events


def decode_chat(*chunks):
    return decode_chunks(ChatCompletionsDecoder("copilot", "m"), *chunks)


def call_chunk(arguments, **more):
    return chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments}, **more}]})


@pytest.mark.requirement("copilot:endless-whitespace")
@pytest.mark.parametrize(("begun", "arguments"), [('{"a": 1}', {"a": 1}), ('{"a":', None)])
def test_endless_whitespace_in_a_call_ends_the_answer_without_an_error(begun, arguments):
    start = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": begun}}
    blank = call_chunk(" \n\t" * 400)
    events = decode_chat(chunk({"tool_calls": [start]}), *[blank] * 100)

    (call,) = select_events(ToolUseDoneEvent, events)
    assert call.content.arguments == arguments
    assert (call.content.error is None) == (arguments is not None)
    assert len(call.content.raw) < 2 * MAX_WHITESPACE
    assert [event.code for event in select_events(WarningEvent, events)] == ["endless_whitespace"]
    assert select_events(DoneEvent, events)[0].stop_reason == "tool_use"


def test_whitespace_below_the_limit_is_kept():
    start = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    events = decode_chat(
        chunk({"tool_calls": [start]}),
        call_chunk(" " * (MAX_WHITESPACE - 1)),
        call_chunk('"x"'),
        call_chunk(" " * (MAX_WHITESPACE - 1)),
        call_chunk("}"),
        chunk({}, finish="tool_calls"),
    )

    (call,) = select_events(ToolUseDoneEvent, events)
    assert call.content.arguments == {"a": "x"}
    assert select_events(WarningEvent, events) == []


@pytest.mark.requirement("copilot:endless-whitespace")
def test_endless_whitespace_ends_an_answer_of_the_responses_api():
    decoder = ResponsesDecoder("copilot", "m")
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""}
    events = decoder.feed_event(
        "", json.dumps({"type": "response.output_item.added", "output_index": 0, "item": item})
    )
    kind = "response.function_call_arguments.delta"
    while not decoder.complete:
        events += decoder.feed_event("", json.dumps({"type": kind, "output_index": 0, "delta": " " * 1000}))

    assert_laws(events)
    assert select_events(DoneEvent, events)[0].stop_reason == "tool_use"
