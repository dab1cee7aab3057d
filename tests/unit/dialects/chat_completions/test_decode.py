"""Hand-written answers in the chat-completions dialect, one for each server behaviour."""

import json

import pytest

from jumpseat.chat import CitationEvent, ResponseEvent, Usage, UsageEvent
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.testing import assert_laws
from tests.unit.dialects.chat_completions.answers import answer, body, call, calls, chunk, read, stream


@pytest.mark.requirement("chat:stream")
def test_pieces_of_text_are_joined():
    got = answer(
        stream(
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": "Hé"}),
            chunk({"content": "llo"}),
            chunk({}, "stop"),
        )
    )
    assert (got.text, got.stop_reason, got.raw_stop_reason) == ("Héllo", "end_turn", "stop")
    assert (got.model, got.response_id) == ("m-1", "r-1")
    assert got.content[0].origin.model == "asked"


def test_a_body_has_the_same_result_as_a_stream():
    part = {"id": "c-1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    whole = answer(
        body({"content": "x", "reasoning": "y", "tool_calls": [part]}, "tool_calls"), "application/json"
    )
    streamed = answer(
        stream(
            chunk({"reasoning": "y"}),
            chunk({"content": "x"}),
            calls(call(0, "c-1", "f", '{"a": 1}')),
            chunk({}, "tool_calls"),
        )
    )
    assert whole == streamed


FINISHES = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "content_filter",
    "eos": "end_turn",
    "end_turn": "end_turn",
    "model_context_window_exceeded": "context_exceeded",
    "tool_calls": "end_turn",
    "repetition_truncation": "max_tokens",
    "something_new": "end_turn",
}


@pytest.mark.requirement("chat:finish-reasons", "chat:finish-reasons-of-imitators")
@pytest.mark.parametrize("reason", FINISHES)
def test_a_finish_reason_is_mapped_and_kept(reason):
    got = answer(stream(chunk({"content": "x"}), chunk({}, reason)))
    assert (got.stop_reason, got.raw_stop_reason) == (FINISHES[reason], reason)


@pytest.mark.requirement("chat:finish-reasons-of-imitators")
@pytest.mark.parametrize("reason", ["", None])
def test_an_end_mark_is_enough_without_a_finish_reason(reason):
    assert answer(stream(chunk({"content": "x"}, reason))).stop_reason == "end_turn"


@pytest.mark.requirement("chat:refusal")
def test_a_refusal_is_text_with_its_own_stop_reason():
    got = answer(
        stream(chunk({"content": None, "refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"))
    )
    assert (got.text, got.stop_reason, got.raw_stop_reason) == ("I cannot.", "refusal", "stop")


@pytest.mark.requirement("chat:choices-empty", "chat:id-and-model-empty")
def test_chunks_without_choices_or_deltas_are_ignored():
    got = answer(
        stream(
            {"id": "", "model": "", "choices": [], "prompt_filter_results": []},
            {"choices": None},
            {"choices": [{"index": 0}]},
            {"choices": [{"index": 0, "delta": None}]},
            chunk({"content": "x"}, "stop"),
        )
    )
    assert (got.text, got.model, got.response_id) == ("x", "m-1", "r-1")


@pytest.mark.requirement("chat:odd-objects")
def test_a_message_replaces_a_missing_delta_and_never_repeats_one():
    assert (
        answer(stream({**chunk(), "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})).text
        == "x"
    )
    repeated = {**chunk(), "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    assert answer(stream(chunk({"content": "x"}), repeated)).text == "x"


@pytest.mark.requirement("chat:odd-objects")
@pytest.mark.parametrize("delta", [{}, {"content": "", "role": "assistant"}, {"content": "y"}, None])
def test_the_message_of_a_body_takes_precedence_over_its_delta(delta):
    message = {"content": "x", "tool_calls": [call(None, "c-1", "f", "{}")]}
    choice = {"index": 0, "message": message, "delta": delta, "finish_reason": "tool_calls"}
    got = answer(json.dumps({**chunk(), "choices": [choice]}).encode(), "application/json")
    assert (got.text, [each.id for each in got.tool_calls]) == ("x", ["c-1"])


@pytest.mark.requirement("chat:odd-objects")
@pytest.mark.parametrize("message", [{}, None])
def test_a_body_with_only_a_delta_is_read(message):
    choice = {"message": message, "delta": {"content": "x"}, "finish_reason": "stop"}
    assert answer(json.dumps({**chunk(), "choices": [choice]}).encode(), "application/json").text == "x"


@pytest.mark.requirement("chat:other-choices")
def test_choices_after_the_first_are_left_out():
    two = {
        **chunk(),
        "choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "x"}}],
    }
    assert answer(stream(two, chunk({}, "stop"))).text == "x"


@pytest.mark.requirement("chat:done-missing", "chat:usage-may-be-missing")
def test_the_end_mark_is_optional_after_a_finish_reason():
    assert answer(stream(chunk({"content": "x"}, "stop"), done=False)).text == "x"
    # Even the blank line after the last event may be missing.
    assert answer(stream(chunk({"content": "x"}, "stop"), done=False)[:-1]).text == "x"


@pytest.mark.requirement("chat:odd-objects")
def test_the_id_and_the_model_of_the_first_chunk_are_used():
    data = stream(
        {**chunk({"content": "x"}), "object": "completion"},
        {**chunk({"content": "y"}, "stop"), "id": "r-2", "model": "m-2", "object": None},
    )
    got = answer(data)
    assert (got.text, got.response_id, got.model) == ("xy", "r-1", "m-1")


COUNTS = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
USAGE = Usage(10, 5, 4, 0, 3)
USAGES = {
    "with empty choices": [chunk({"content": "x"}, "stop"), chunk(usage=COUNTS)],
    "on the last choice": [chunk({"content": "x"}, "stop", usage=COUNTS)],
    "on every chunk": [
        chunk({"content": "x"}, usage={**COUNTS, "completion_tokens": 1}),
        chunk({}, "stop", usage=COUNTS),
    ],
    "before the finish": [chunk({"content": "x"}, usage=COUNTS), chunk({}, "stop")],
    "null afterwards": [chunk({"content": "x"}, "stop", usage=COUNTS), chunk(usage=None)],
    "in x_groq, twice": [chunk({"content": "x"}, "stop", x_groq={"usage": COUNTS}), chunk(usage=COUNTS)],
    "in the choice": [
        {**chunk(), "choices": [{"delta": {"content": "x"}, "finish_reason": "stop", "usage": COUNTS}]}
    ],
    "reasoning not included": [chunk({"content": "x"}, "stop", usage={**COUNTS, "completion_tokens": 2})],
}


@pytest.mark.requirement("chat:usage-anywhere", "chat:usage-inclusive")
@pytest.mark.parametrize("name", USAGES)
def test_the_last_usage_is_used_wherever_it_is(name):
    data = stream(*USAGES[name])
    assert answer(data).usage == USAGE
    events, _ = read([data])
    assert [e for e in events if isinstance(e, UsageEvent)][-1].usage == USAGE


@pytest.mark.parametrize("count", ["1e999", "1" + "0" * 400, "-3", "true", '"5"', "[]"])
def test_an_invalid_count_is_zero(count):
    data = stream(chunk({"content": "x"}, "stop", usage={"prompt_tokens": 7, "cost": None}))
    # `json.dumps` cannot write some of these counts, so put them into the stream afterwards.
    got = answer(data.replace(b"7", count.encode()).replace(b"null}", count.encode() + b"}"))
    assert (got.text, got.usage.input_tokens) == ("x", 0)


def test_costs_and_other_cache_counts_are_read():
    got = answer(
        stream(
            chunk(
                {"content": "x"},
                "stop",
                usage={
                    "prompt_tokens": 9,
                    "completion_tokens": 1,
                    "prompt_cache_hit_tokens": 8,
                    "cost": 0.25,
                },
            )
        )
    )
    assert (got.usage.cache_read_tokens, got.usage.cost.amount, got.usage.cost.currency) == (8, 0.25, "USD")
    assert got.usage.reasoning_tokens is None


def test_each_citation_is_emitted_once():
    url = {"type": "url_citation", "url_citation": {"url": "https://a", "title": "A"}}
    events, _ = read(
        [
            stream(
                chunk({"content": "x", "annotations": [url]}),
                chunk(
                    {"content": "y"},
                    citations=["https://b", "https://a"],
                    search_results=[{"url": "https://c", "title": "C"}],
                ),
                chunk({}, "stop", citations=["https://b"]),
            )
        ]
    )
    assert_laws(events)
    assert [(e.url, e.title) for e in events if isinstance(e, CitationEvent)] == [
        ("https://a", "A"),
        ("https://c", "C"),
        ("https://b", None),
    ]


def test_the_response_event_comes_first_and_once():
    events, _ = read([stream(chunk({"content": "x"}), chunk({"content": "y"}, "stop"))])
    assert [i for i, event in enumerate(events) if isinstance(event, ResponseEvent)] == [0]


@pytest.mark.requirement("chat:done-then-open")
def test_no_events_follow_the_end_mark():
    decoder = ChatCompletionsDecoder("acme", "asked")
    decoder.feed_event("message", json.dumps(chunk({"content": "x"}, "stop")))
    assert not decoder.complete
    assert decoder.feed_event("message", "[DONE]")
    assert decoder.complete
    assert decoder.feed_event("message", json.dumps(chunk({"content": "y"}))) == []
    assert decoder.finish() == []
