"""The assignment of events to items, for all numberings, ids and orders of events."""

import pytest

from tests.unit.dialects.responses.answers import (
    CREATED,
    added_event,
    answer,
    delta,
    done_event,
    end_event,
    events_of,
    text,
    text_parts,
)

CALL = {"call_id": "c-1", "name": "f"}


def summary(piece, index=0, item_id="i-1"):
    return delta("reasoning_summary_text", piece, index, item_id, summary_index=0)


def content_of(response):
    return [
        (block.type, getattr(block, {"text": "text", "thinking": "thinking", "tool_use": "raw"}[block.type]))
        for block in response.content
    ]


@pytest.mark.requirement("responses:output-index")
def test_ids_that_change_with_every_event_are_ignored():
    response = answer(
        CREATED,
        added_event(0, "reasoning", "a"),
        summary("Hm", 0, "b"),
        done_event(0, "reasoning", "c", summary=[{"type": "summary_text", "text": "Hm"}]),
        added_event(1, "message", "d", phase="final_answer"),
        text("Hel", 1, "e"),
        text("lo", 1, "f"),
        done_event(1, "message", "g", phase="final_answer", content=text_parts("Hello")),
        added_event(2, "function_call", "h", **CALL),
        delta("function_call_arguments", "{}", 2, "i"),
        done_event(2, "function_call", "j", **CALL, arguments="{}"),
        end_event({"type": "message", "id": "k", "content": text_parts("Hello")}),
    )
    assert content_of(response) == [("thinking", "Hm"), ("text", "Hello"), ("tool_use", "{}")]


@pytest.mark.requirement("responses:overlapping")
def test_items_that_overlap_do_not_mix():
    response = answer(
        CREATED,
        added_event(0, "reasoning", "rs"),
        summary("Think", 0, "rs"),
        added_event(1, "message", "m"),
        text("Hel", 1, "m"),
        summary("ing", 0, "rs"),
        added_event(2, "function_call", "fc", **CALL),
        text("lo", 1, "m"),
        delta("function_call_arguments", "{}", 2, "fc"),
        done_event(2, "function_call", "fc", **CALL, arguments="{}"),
        done_event(1, "message", "m", content=text_parts("Hello")),
        done_event(0, "reasoning", "rs", summary=[{"type": "summary_text", "text": "Thinking"}]),
        end_event(),
    )
    assert content_of(response) == [("thinking", "Thinking"), ("text", "Hello"), ("tool_use", "{}")]


@pytest.mark.requirement("responses:overlapping")
def test_calls_may_overlap_and_a_complete_message_does_not_delay_them():
    whole_text = {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hi"}
    events = events_of(
        CREATED,
        added_event(0, "message", "m"),
        text("Hi", 0, "m"),
        whole_text,
        added_event(1, "function_call", "a", **CALL),
        added_event(2, "function_call", "b", call_id="c-2", name="g"),
        delta("function_call_arguments", "{", 2, "b"),
        delta("function_call_arguments", "{", 1, "a"),
        delta("function_call_arguments", "}", 2, "b"),
        delta("function_call_arguments", "}", 1, "a"),
        end_event(),
    )
    deltas = [(event.block, event.argument_delta) for event in events if event.type == "tool_use_delta"]
    assert deltas == [(2, "{"), (1, "{"), (2, "}"), (1, "}")]


@pytest.mark.requirement("responses:unnumbered")
@pytest.mark.parametrize("index", [None, 0])
def test_items_without_an_index_or_with_the_same_one_are_distinguished_by_id(index):
    response = answer(
        CREATED,
        added_event(index, "message", "m-1"),
        text("One", index, "m-1"),
        done_event(index, "message", "m-1", content=text_parts("One")),
        added_event(index, "function_call", "f-1", **CALL),
        delta("function_call_arguments", "{", index, "f-1"),
        added_event(index, "function_call", "f-2", call_id="c-2", name="g"),
        delta("function_call_arguments", "[", index, "f-2"),
        delta("function_call_arguments", "}", index, "f-1"),
        done_event(index, "function_call", "f-1", **CALL, arguments="{}"),
        done_event(index, "function_call", "f-2", call_id="c-2", name="g", arguments="[]"),
        done_event(index, "message", "m-2", content=text_parts("Two")),
        end_event(),
    )
    assert content_of(response) == [("text", "One"), ("tool_use", "{}"), ("tool_use", "[]"), ("text", "Two")]


@pytest.mark.requirement("responses:unannounced")
@pytest.mark.parametrize(
    "events",
    [
        [text("Hello"), summary("Hm", 1, "r")],
        [text("Hello"), summary("Hm", 1, "r"), done_event(0, "message", content=text_parts("Hello"))],
        [
            done_event(0, "message", content=text_parts("Hello")),
            done_event(1, "reasoning", "r", summary=[{"text": "Hm"}]),
        ],
        [text("Hello", None, None), summary("Hm", None, None)],
        [added_event(0, "message"), text("Hel")],
        [],
    ],
)
def test_items_without_an_added_or_a_done_event_are_accepted(events):
    output = (
        {"type": "message", "id": "z", "content": text_parts("Hello")},
        {"type": "reasoning", "id": "y", "summary": [{"type": "summary_text", "text": "Hm"}]},
    )
    assert content_of(answer(CREATED, *events, end_event(*output))) == [
        ("text", "Hello"),
        ("thinking", "Hm"),
    ]


@pytest.mark.requirement("responses:empty-output")
def test_the_last_event_need_not_repeat_the_items():
    finished = done_event(0, "function_call", "fc", **CALL, arguments='{"a": "é"}')
    for end in (end_event(), {"type": "response.completed", "response": {"output": None}}):
        response = answer(CREATED, finished, end)
        assert content_of(response) == [("tool_use", '{"a": "é"}')]
        assert response.stop_reason == "tool_use"


def test_an_item_that_is_announced_or_finished_twice_is_emitted_once():
    response = answer(
        CREATED,
        added_event(0, "message"),
        added_event(0, "message"),
        text("Hello"),
        done_event(0, "message", content=text_parts("Hello")),
        done_event(0, "message", content=text_parts("Hello")),
        text("late"),
        end_event(),
    )
    assert content_of(response) == [("text", "Hello")]


@pytest.mark.requirement("responses:no-event-lines")
def test_event_names_numbers_and_padding_are_ignored():
    events = [CREATED, added_event(0, "message"), text("Hel"), text("lo"), end_event()]
    padded = [{**event, "obfuscation": "xyz", "sequence_number": 9 - n} for n, event in enumerate(events)]
    assert content_of(answer(*events, named=False)) == content_of(answer(*padded)) == [("text", "Hello")]


def finished_part(whole):
    return {"type": "response.content_part.done", "output_index": 0, "content_index": 0, "part": whole}


def test_a_finished_part_of_open_reasoning_is_thinking():
    whole = finished_part({"type": "reasoning_text", "text": "Hm."})
    response = answer(CREATED, added_event(0, "reasoning"), whole, end_event())

    assert [block.thinking for block in response.content] == ["Hm."]


def test_the_citations_of_a_finished_part_are_emitted():
    page = {"type": "url_citation", "url": "https://x/", "title": "X"}
    (whole,) = text_parts("Hello", annotations=[page])
    events = events_of(CREATED, added_event(0, "message", content=[]), finished_part(whole), end_event())

    assert [event.url for event in events if event.type == "citation"] == ["https://x/"]


def test_an_event_without_data_is_skipped():
    finished = done_event(0, "message", content=text_parts("Hello"))
    events = events_of(CREATED, "", " ", text("Hello"), finished, end_event())

    assert [event.text for event in events if event.type == "text_delta"] == ["Hello"]
    assert [event.type for event in events if event.type == "warning"] == []
