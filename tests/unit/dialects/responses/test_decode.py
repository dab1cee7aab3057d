"""Answers in the Responses dialect: events and whole bodies."""

import json

import pytest

from jumpseat.chat import (
    CitationEvent,
    ResponseEvent,
    ThinkingDoneEvent,
)
from tests.unit.dialects.responses.answers import (
    CREATED,
    added_event,
    answer,
    decode_body,
    delta,
    done_event,
    end_event,
    events_of,
    text,
    text_parts,
)

MESSAGE = {"type": "message", "id": "i-1", "content": text_parts("Hello")}
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 15,
}


def calls_of(response):
    return [(call.id, call.name, call.raw) for call in response.tool_calls]


@pytest.mark.requirement("responses:text", "responses:lifecycle", "responses:usage")
def test_streamed_text_is_one_block():
    response = answer(
        CREATED,
        {**CREATED, "type": "response.in_progress"},
        added_event(0, "message", content=[]),
        {
            "type": "response.content_part.added",
            "output_index": 0,
            "content_index": 0,
            "part": text_parts("")[0],
        },
        text("Hel"),
        text("lo"),
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hello"},
        {
            "type": "response.content_part.done",
            "output_index": 0,
            "content_index": 0,
            "part": text_parts("Hello")[0],
        },
        done_event(0, "message", content=text_parts("Hello")),
        end_event(MESSAGE, usage=USAGE),
    )
    assert (response.text, response.model, response.response_id) == ("Hello", "m-1", "r-1")
    assert (response.stop_reason, response.raw_stop_reason) == ("end_turn", "completed")
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (10, 5, 2)
    assert (usage.cache_read_tokens, usage.cache_creation_tokens) == (4, 3)


@pytest.mark.requirement("responses:lifecycle")
def test_the_response_event_comes_once():
    later = end_event(MESSAGE)
    later["response"]["id"] = "another"
    events = events_of({**CREATED, "type": "response.queued"}, CREATED, text("Hello"), later)
    assert [event.id for event in events if isinstance(event, ResponseEvent)] == ["r-1"]


@pytest.mark.requirement("responses:text")
@pytest.mark.parametrize(
    "events",
    [
        [text("Hel"), done_event(0, "message", content=text_parts("Hello"))],
        [
            text("Hel"),
            {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hello"},
        ],
        [done_event(0, "message", content=text_parts("Hello"))],
        [done_event(0, "message", content="Hello")],
        [added_event(0, "message"), done_event(0, "message", content=text_parts("Hel", "lo"))],
        [added_event(0, "message"), text("Hel"), text("lo", content_index=1)],
    ],
)
def test_a_partly_streamed_text_is_emitted_once(events):
    assert answer(CREATED, *events, end_event()).text == "Hello"


def test_half_a_surrogate_pair_and_a_nan_do_not_lose_the_text():
    half = json.dumps(text("Hel")).replace("Hel", r"Hel\ud83d")
    nan = json.dumps(text("lo", logprobs=[float("nan")]))
    assert answer(CREATED, added_event(0, "message"), half, nan, end_event()).text == "Hel\ufffdlo"


@pytest.mark.requirement("responses:refusal")
def test_a_refusal_is_text_with_a_stop_reason():
    response = answer(
        CREATED,
        added_event(0, "message"),
        delta("refusal", "I can", content_index=0),
        end_event({"type": "message", "id": "i-1", "content": [{"type": "refusal", "refusal": "I cannot."}]}),
    )
    assert (response.text, response.stop_reason) == ("I cannot.", "refusal")


@pytest.mark.requirement("responses:annotations")
def test_citations_are_emitted_once_from_deltas_and_complete_items():
    page = {"type": "url_citation", "url": "https://x/", "title": "X", "start_index": 0, "end_index": 1}
    file = {"type": "file_citation", "file_id": "f", "filename": "a.pdf", "index": 0}
    nested = {"type": "url_citation", "url_citation": {"url": "https://y/"}}
    annotation = {
        "type": "response.output_text.annotation.added",
        "output_index": 0,
        "content_index": 0,
        "annotation": page,
    }
    finished = done_event(0, "message", content=text_parts("Hello", annotations=[page, file, nested]))
    for stream_of_events in ([text("Hello"), annotation, finished], [finished], [text("Hello"), finished]):
        events = events_of(CREATED, *stream_of_events, end_event())
        cited = [(e.block, e.url, e.title) for e in events if isinstance(e, CitationEvent)]
        assert cited == [(0, "https://x/", "X"), (0, None, "a.pdf"), (0, "https://y/", None)]


@pytest.mark.requirement("responses:summary")
def test_summary_parts_are_one_block_with_blank_lines_between_them():
    summary = [{"type": "summary_text", "text": each} for each in ("One.", "Two.")]
    events = [
        added_event(0, "reasoning", "rs", summary=[]),
        delta("reasoning_summary_text", "One", item_id="rs", summary_index=0),
        delta("reasoning_summary_text", ".", item_id="rs", summary_index=0),
        delta("reasoning_summary_text", "Two.", item_id="rs", summary_index=1),
        done_event(0, "reasoning", "rs", summary=summary),
    ]
    streamed = answer(CREATED, *events, end_event())
    unstreamed = answer(CREATED, done_event(0, "reasoning", "rs", summary=summary), end_event())
    for response in (streamed, unstreamed):
        assert [block.thinking for block in response.content] == ["One.\n\nTwo."]


@pytest.mark.requirement("responses:reasoning-text")
def test_plain_reasoning_is_thinking_and_its_summary_is_left_out():
    content = [{"type": "reasoning_text", "text": "Hm."}]
    streamed = [added_event(0, "reasoning"), delta("reasoning_text", "Hm.", content_index=0)]
    for events in (
        [*streamed, done_event(0, "reasoning", content=content, summary=[])],
        [done_event(0, "reasoning", content=content, summary=[])],
        [*streamed, done_event(0, "reasoning", summary=[{"type": "summary_text", "text": "Short"}])],
    ):
        assert [b.thinking for b in answer(CREATED, *events, end_event()).content] == ["Hm."]


@pytest.mark.requirement("responses:encrypted-from-done", "responses:empty-encrypted")
@pytest.mark.parametrize(("encrypted", "signature"), [("whole", "whole"), ("", None), (None, None)])
def test_encrypted_content_comes_from_the_finished_item(encrypted, signature):
    events = events_of(
        CREATED,
        added_event(0, "reasoning", encrypted_content="par"),
        delta("reasoning_summary_text", "Hm", summary_index=0),
        done_event(
            0, "reasoning", encrypted_content=encrypted, summary=[{"type": "summary_text", "text": "Hm"}]
        ),
        end_event(),
    )
    (block,) = [event.content for event in events if isinstance(event, ThinkingDoneEvent)]
    assert block.signature == signature


@pytest.mark.requirement("responses:encrypted-from-done")
def test_reasoning_without_text_is_a_block_only_if_it_is_encrypted():
    response = answer(
        CREATED,
        done_event(0, "reasoning", "a", encrypted_content="x", summary=[]),
        done_event(1, "reasoning", "b"),
        end_event(),
    )
    assert [(block.thinking, block.signature) for block in response.content] == [("", "x")]


@pytest.mark.requirement("responses:call-arguments", "responses:tool-use")
@pytest.mark.parametrize(
    "middle",
    [
        [
            delta("function_call_arguments", '{"a":', 0, "fc"),
            delta("function_call_arguments", " 1}", 0, "fc"),
        ],
        [delta("function_call_arguments", '{"a":', 0, "fc")],
        [{"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"a": 1}'}],
        [],
    ],
)
def test_arguments_come_in_deltas_or_only_at_the_end(middle):
    response = answer(
        CREATED,
        added_event(0, "function_call", "fc", call_id="c-1", name="f", arguments=""),
        *middle,
        done_event(0, "function_call", "fc", call_id="c-1", name="f", arguments='{"a": 1}'),
        end_event(),
    )
    assert calls_of(response) == [("c-1", "f", '{"a": 1}')]
    assert response.tool_calls[0].arguments == {"a": 1}
    assert response.stop_reason == "tool_use"


def test_arguments_as_an_object_and_a_call_without_an_id_are_accepted():
    response = answer(
        CREATED, done_event(0, "function_call", "fc", name="f", arguments={"a": 1}), end_event()
    )
    assert calls_of(response) == [("fc", "f", '{"a":1}')]


@pytest.mark.requirement("responses:hosted-events", "responses:other-items")
def test_hosted_tools_are_other_blocks_and_their_events_are_skipped():
    item = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "q"}}
    response = answer(
        CREATED,
        added_event(0, "web_search_call", "ws", status="in_progress"),
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws"},
        {"type": "response.web_search_call.completed", "output_index": 0, "item_id": "ws"},
        {"type": "response.something.new", "output_index": 0},
        done_event(0, item["type"], "ws", status="completed", action=item["action"]),
        done_event(1, "message", "m", content=text_parts("Found.")),
        end_event(),
    )
    other, said = response.content
    assert (other.type, other.kind, json.loads(other.opaque)) == ("other", "web_search_call", item)
    assert said.text == "Found."


@pytest.mark.requirement("responses:whole-body")
def test_a_body_has_the_same_result_as_a_stream():
    output = [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "message", "id": "m", "content": text_parts("Hello")},
        {"type": "function_call", "id": "fc", "call_id": "c-1", "name": "f", "arguments": "{}"},
    ]
    end = end_event(*output, usage=USAGE)
    streamed = answer(
        CREATED,
        added_event(0, "reasoning", "rs"),
        delta("reasoning_summary_text", "Hm", item_id="rs", summary_index=0),
        done_event(0, "reasoning", "rs", summary=output[0]["summary"]),
        text("Hello", 1, "m"),
        done_event(1, "message", "m", content=text_parts("Hello")),
        done_event(2, "function_call", "fc", call_id="c-1", name="f", arguments="{}"),
        end,
    )
    assert decode_body(end["response"]) == streamed
