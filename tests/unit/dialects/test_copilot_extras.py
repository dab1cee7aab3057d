"""Fields that Copilot adds to answers of every dialect, and calls with endless whitespace."""

from __future__ import annotations

import json

import pytest

from jumpseat.chat import CitationEvent, Cost, DoneEvent, ThinkingDoneEvent, ToolUseDoneEvent, WarningEvent
from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder
from jumpseat.dialects.assembly import MAX_WHITESPACE
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.dialects.copilot_extras import cost_in
from jumpseat.dialects.responses import ResponsesDecoder
from jumpseat.testing import assert_laws

PRICE = {"token_details": [{"token_type": "output", "token_count": 3}], "total_nano_aiu": 8_262_952_500}
COST = Cost(8.2629525, "AIU")


def chunk(delta, *, finish=None, **more):
    return {
        "id": "x",
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }


def chat(*chunks):
    decoder = ChatCompletionsDecoder("copilot", "m")
    events = []
    for each in chunks:
        if not decoder.complete:
            events += decoder.feed_event("message", json.dumps(each))
    events += decoder.finish()
    assert_laws(events)
    return events


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.requirement("copilot:cost")
def test_chat_completions_report_the_price():
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    events = chat(chunk({"content": "Hi"}), chunk({}, finish="stop", usage=usage, copilot_usage=PRICE))

    (done,) = of(DoneEvent, events)
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.cost) == (3, 4, COST)


@pytest.mark.requirement("copilot:cost")
def test_responses_report_the_price_outside_of_the_response():
    item = {
        "type": "message",
        "id": "i",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi"}],
    }
    usage = {"input_tokens": 3, "output_tokens": 4}
    end = {"id": "r", "status": "completed", "model": "m", "output": [item], "usage": usage}
    event = {"type": "response.completed", "response": end, "copilot_usage": PRICE}

    events = ResponsesDecoder("copilot", "m").feed_event("response.completed", json.dumps(event))

    assert events[-1].usage.cost == COST
    assert events[-1].usage.input_tokens == 3


@pytest.mark.requirement("copilot:cost")
def test_messages_report_the_price_at_the_end():
    start = {"type": "message_start", "message": {"id": "msg", "model": "m", "usage": {"input_tokens": 3}}}
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 4},
        "copilot_usage": PRICE,
    }
    decoder = AnthropicMessagesDecoder("copilot", "m")
    events = [
        event
        for each in (start, end, {"type": "message_stop"})
        for event in decoder.feed_event(each["type"], json.dumps(each))
    ]

    assert (events[-1].usage.input_tokens, events[-1].usage.cost) == (3, COST)


@pytest.mark.parametrize("total", [None, "1", True, -1, float("inf"), 1e300, []])
def test_an_invalid_price_is_ignored(total):
    assert cost_in({"copilot_usage": {"total_nano_aiu": total}}) is None


@pytest.mark.requirement("copilot:citations")
def test_matches_with_public_code_and_references_are_citations_and_emitted_once():
    match = {"id": 0, "citations": {"url": "https://example.com/a", "license": "MIT", "snippet": "x"}}
    reference = {
        "type": "github.web-search",
        "metadata": {"display_url": "https://example.com/b", "display_name": "B"},
    }
    events = chat(
        {"choices": None, "copilot_references": [reference], "id": None},
        chunk({"content": "Hi", "copilot_annotations": {"IPCodeCitations": [match]}}),
        chunk({"content": "!", "copilot_annotations": {"IPCodeCitations": [match]}}),
        chunk({}, finish="stop"),
    )

    sources = [(event.url, event.title) for event in of(CitationEvent, events)]
    assert sources == [("https://example.com/b", "B"), ("https://example.com/a", "MIT")]


@pytest.mark.requirement("copilot:notices")
def test_an_error_of_the_service_is_a_warning_and_the_answer_continues():
    errors = [{"type": "reference", "code": "gone", "message": "The file is\ngone.", "agent": "github"}]
    events = chat(
        {"choices": None, "copilot_errors": errors}, chunk({"content": "Hi"}), chunk({}, finish="stop")
    )

    assert [(event.code, event.message) for event in of(WarningEvent, events)] == [
        ("provider_notice", "The file is gone.")
    ]


@pytest.mark.requirement("copilot:summaries")
def test_a_summary_of_reasoning_is_thinking_that_is_not_replayed_and_its_late_id_is_ignored():
    events = chat(
        chunk({"cot_summary": "First "}),
        chunk({"cot_summary": "this.", "cot_id": ""}),
        chunk({"content": "Hi"}),
        chunk({}, finish="stop"),
        {"id": "x", "choices": [{"index": 0, "delta": {"cot_id": "cot_1"}}]},
    )

    (done,) = of(ThinkingDoneEvent, events)
    assert (done.content.thinking, done.content.opaque) == ("First this.", None)


@pytest.mark.requirement("copilot:reasoning-tokens")
def test_geminis_reasoning_tokens_are_added_to_the_output():
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 17, "reasoning_tokens": 10}
    events = chat(chunk({"content": "Hi"}), chunk({}, finish="stop", usage=usage))

    assert (events[-1].usage.output_tokens, events[-1].usage.reasoning_tokens) == (14, 10)


def call_chunk(arguments, **more):
    return chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments}, **more}]})


@pytest.mark.requirement("copilot:endless-whitespace")
@pytest.mark.parametrize(("begun", "arguments"), [('{"a": 1}', {"a": 1}), ('{"a":', None)])
def test_a_call_with_endless_whitespace_is_cut_off_and_the_chat_does_not_fail(begun, arguments):
    start = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": begun}}
    blank = call_chunk(" \n\t" * 400)
    events = chat(chunk({"tool_calls": [start]}), *[blank] * 100)

    (call,) = of(ToolUseDoneEvent, events)
    assert call.content.arguments == arguments
    assert (call.content.error is None) == (arguments is not None)
    assert len(call.content.raw) < 2 * MAX_WHITESPACE
    assert [event.code for event in of(WarningEvent, events)] == ["endless_whitespace"]
    assert of(DoneEvent, events)[0].stop_reason == "tool_use"


def test_whitespace_below_the_limit_is_kept():
    start = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    events = chat(
        chunk({"tool_calls": [start]}),
        call_chunk(" " * (MAX_WHITESPACE - 1)),
        call_chunk('"x"'),
        call_chunk(" " * (MAX_WHITESPACE - 1)),
        call_chunk("}"),
        chunk({}, finish="tool_calls"),
    )

    (call,) = of(ToolUseDoneEvent, events)
    assert call.content.arguments == {"a": "x"}
    assert of(WarningEvent, events) == []


@pytest.mark.requirement("copilot:endless-whitespace")
def test_responses_cut_off_endless_whitespace_too():
    decoder = ResponsesDecoder("copilot", "m")
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""}
    events = decoder.feed_event(
        "", json.dumps({"type": "response.output_item.added", "output_index": 0, "item": item})
    )
    kind = "response.function_call_arguments.delta"
    while not decoder.complete:
        events += decoder.feed_event("", json.dumps({"type": kind, "output_index": 0, "delta": " " * 1000}))

    assert_laws(events)
    assert of(DoneEvent, events)[0].stop_reason == "tool_use"
