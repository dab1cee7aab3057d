"""Fields that Copilot adds to responses of every dialect."""

from __future__ import annotations

import json

import pytest

from jumpseat.adapters.github.copilot.extras import CopilotExtras
from jumpseat.chat import CitationEvent, Cost, DoneEvent, ThinkingDoneEvent, WarningEvent
from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.dialects.responses import ResponsesDecoder
from tests.unit.dialects.chat_completions.answers import chunk, decode_chunks, select_events

PRICE = {"token_details": [{"token_type": "output", "token_count": 3}], "total_nano_aiu": 8_262_952_500}
COST = Cost(8.2629525, "AIU")


def chat(*chunks):
    return decode_chunks(ChatCompletionsDecoder("copilot", "m", CopilotExtras()), *chunks)


@pytest.mark.requirement("copilot:cost")
def test_chat_completions_report_the_price():
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    events = chat(chunk({"content": "Hi"}), chunk({}, finish="stop", usage=usage, copilot_usage=PRICE))

    (done,) = select_events(DoneEvent, events)
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.cost) == (3, 4, COST)


@pytest.mark.requirement("copilot:cost")
def test_the_responses_api_reports_the_price_outside_of_the_response():
    item = {
        "type": "message",
        "id": "i",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi"}],
    }
    usage = {"input_tokens": 3, "output_tokens": 4}
    end = {"id": "r", "status": "completed", "model": "m", "output": [item], "usage": usage}
    event = {"type": "response.completed", "response": end, "copilot_usage": PRICE}

    events = ResponsesDecoder("copilot", "m", CopilotExtras()).feed_event(
        "response.completed", json.dumps(event)
    )

    assert events[-1].usage.cost == COST
    assert events[-1].usage.input_tokens == 3


@pytest.mark.requirement("copilot:cost")
def test_the_messages_api_reports_the_price_at_the_end():
    start = {"type": "message_start", "message": {"id": "msg", "model": "m", "usage": {"input_tokens": 3}}}
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 4},
        "copilot_usage": PRICE,
    }
    decoder = AnthropicMessagesDecoder("copilot", "m", CopilotExtras())
    events = [
        event
        for each in (start, end, {"type": "message_stop"})
        for event in decoder.feed_event(each["type"], json.dumps(each))
    ]

    assert (events[-1].usage.input_tokens, events[-1].usage.cost) == (3, COST)


@pytest.mark.parametrize("total", [None, "1", True, -1, float("inf"), 1e300, []])
def test_an_invalid_price_is_ignored(total):
    assert CopilotExtras().cost_in({"copilot_usage": {"total_nano_aiu": total}}) is None


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

    sources = [(event.url, event.title) for event in select_events(CitationEvent, events)]
    assert sources == [("https://example.com/b", "B"), ("https://example.com/a", "MIT")]


@pytest.mark.requirement("copilot:citations")
def test_matches_with_public_code_in_deltas_are_emitted_once_as_citations():
    def piece(text, *urls):
        matches = [{"id": 0, "citations": {"url": url, "license": "MIT", "snippet": "x"}} for url in urls]
        delta = {"type": "text_delta", "text": text}
        found = {"IPCodeCitations": matches}
        return {"type": "content_block_delta", "index": 0, "delta": delta, "copilot_annotations": found}

    one, two = "https://example.com/a", "https://example.com/b"
    decoder = AnthropicMessagesDecoder("copilot", "m", CopilotExtras())
    sent = [
        {"type": "message_start", "message": {"id": "msg", "model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        piece("Hi", one),
        piece("!", one, two, ""),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ]
    events = [event for each in sent for event in decoder.feed_event(each["type"], json.dumps(each))]

    assert select_events(CitationEvent, events) == [
        CitationEvent(0, one, "MIT"),
        CitationEvent(0, two, "MIT"),
    ]


@pytest.mark.requirement("copilot:notices")
def test_an_error_of_the_service_is_a_warning_and_the_answer_continues():
    errors = [{"type": "reference", "code": "gone", "message": "The file is\ngone.", "agent": "github"}]
    events = chat(
        {"choices": None, "copilot_errors": errors}, chunk({"content": "Hi"}), chunk({}, finish="stop")
    )

    assert [(event.code, event.message) for event in select_events(WarningEvent, events)] == [
        ("provider_notice", "The file is gone.")
    ]


@pytest.mark.requirement("copilot:summaries")
def test_a_summary_of_reasoning_is_thinking_that_is_not_replayed():
    events = chat(
        chunk({"cot_summary": "First "}),
        chunk({"cot_summary": "this.", "cot_id": ""}),
        chunk({"content": "Hi"}),
        chunk({}, finish="stop"),
        {"id": "x", "choices": [{"index": 0, "delta": {"cot_id": "cot_1"}}]},
    )

    (done,) = select_events(ThinkingDoneEvent, events)
    assert (done.content.thinking, done.content.opaque) == ("First this.", None)


@pytest.mark.requirement("copilot:reasoning-tokens")
def test_geminis_reasoning_tokens_are_added_to_the_output():
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 17, "reasoning_tokens": 10}
    events = chat(chunk({"content": "Hi"}), chunk({}, finish="stop", usage=usage))

    assert (events[-1].usage.output_tokens, events[-1].usage.reasoning_tokens) == (14, 10)
