"""What servers of this dialect send, one hand-written answer for each way of theirs."""

import json

import pytest

from jumpseat.chat import (
    AuthenticationError,
    CitationEvent,
    ProtocolError,
    RateLimitError,
    RequestError,
    ResponseEvent,
    ServerError,
    TextDeltaEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.testing import assert_laws
from tests.unit.dialects.chat_completions.answers import DONE, answer, body, call, calls, chunk, read, stream


@pytest.mark.requirement("chat:stream")
def test_text_in_pieces():
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


def test_a_whole_body_gives_what_a_stream_does():
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


CALLS = {
    "arguments in pieces": [
        calls(call(0, "c-1", "f", "")),
        calls(call(0, arguments='{"a"')),
        calls(call(0, arguments=":1}")),
    ],
    "index missing": [calls(call(None, "c-1", "f", '{"a":')), calls(call(None, None, None, "1}"))],
    "index missing, id repeated": [
        calls(call(None, "c-1", "f", '{"a":')),
        calls(call(None, "c-1", "", "1}")),
    ],
    "index from 1": [calls(call(1, "c-1", "f", '{"a":1}'))],
    "id and name repeated": [calls(call(0, "c-1", "f", '{"a"')), calls(call(0, "c-1", "f", ":1}"))],
    "id and name empty later": [calls(call(0, "c-1", "f", '{"a"')), calls(call(0, "", "", ":1}"))],
    "name before id": [calls(call(0, None, "f", '{"a"')), calls(call(0, "c-1", None, ":1}"))],
    "in the finish chunk": [calls(call(0, "c-1", "f", '{"a":1}'), finish="tool_calls")],
    "with finish stop": [calls(call(0, "c-1", "f", '{"a":1}')), chunk({}, "stop")],
    "with null deltas": [
        calls(call(0, "c-1", "f", None)),
        calls(call(0, None, None, '{"a":1}')),
        chunk({"tool_calls": None}),
    ],
    "arguments as an object": [calls(call(0, "c-1", "f", {"a": 1}))],
}


@pytest.mark.requirement(
    "chat:arguments-in-pieces",
    "chat:index-missing",
    "chat:index-from-one",
    "chat:id-and-name-repeated",
    "chat:id-and-name-empty",
    "chat:calls-with-finish",
    "chat:finish-stop-with-calls",
)
@pytest.mark.parametrize("name", CALLS)
def test_a_tool_call_in_every_form(name):
    got = answer(stream(*CALLS[name]))
    assert [(c.id, c.name, c.arguments, c.raw) for c in got.tool_calls] == [("c-1", "f", {"a": 1}, '{"a":1}')]
    assert got.stop_reason == "tool_use"


SEVERAL = {
    "one after the other": [calls(call(0, "c-1", "f", "{}")), calls(call(1, "c-2", "g", "{}"))],
    "in one delta": [calls(call(0, "c-1", "f", "{}"), call(1, "c-2", "g", "{}"))],
    "interleaved": [
        calls(call(0, "c-1", "f", "{")),
        calls(call(1, "c-2", "g", "{")),
        calls(call(0, arguments="}")),
        calls(call(1, arguments="}")),
    ],
    "the same index": [calls(call(0, "c-1", "f", "{}")), calls(call(0, "c-2", "g", "{}"))],
    "no index": [calls(call(None, "c-1", "f", "{}"), call(None, "c-2", "g", "{}"))],
}


@pytest.mark.requirement("chat:index-repeated", "chat:index-missing", "chat:calls-with-finish")
@pytest.mark.parametrize("name", SEVERAL)
def test_several_calls_are_told_apart(name):
    got = answer(stream(*SEVERAL[name]))
    assert [(c.id, c.name, c.arguments) for c in got.tool_calls] == [("c-1", "f", {}), ("c-2", "g", {})]


@pytest.mark.requirement("chat:arguments-none")
@pytest.mark.parametrize("raw", ["", "null", None])
def test_no_arguments_are_an_empty_object_and_raw_stays(raw):
    (got,) = answer(stream(calls(call(0, "c-1", "f", raw)))).tool_calls
    assert (got.arguments, got.raw, got.error) == ({}, raw or "", None)


@pytest.mark.requirement("chat:finish-length-half-call")
@pytest.mark.parametrize("raw", ['{"a": [1, 2', "[1]", '{"a": NaN}', '"text"', "{} {}"])
def test_broken_arguments_are_never_repaired(raw):
    got = answer(stream(calls(call(0, "c-1", "f", raw)), chunk({}, "length")))
    assert (got.tool_calls[0].arguments, got.tool_calls[0].raw) == (None, raw)
    assert got.tool_calls[0].error.startswith("The arguments of the call are not")
    assert got.stop_reason == "max_tokens"


@pytest.mark.requirement("chat:id-and-name-empty")
def test_calls_without_ids_get_ids_that_differ_between_answers():
    def ids(response_id):
        data = stream(
            *(
                {**c, "id": response_id}
                for c in (calls(call(0, "", "f", "{}")), calls(call(1, None, "g", "{}")))
            )
        )
        return [c.id for c in answer(data).tool_calls]

    assert ids("r-1") == ["call_1_r1", "call_2_r1"]
    assert not set(ids("r-1")) & set(ids("r-2"))


@pytest.mark.requirement("chat:function-call")
def test_the_old_function_call_is_a_tool_call():
    (got,) = answer(
        body({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
        "application/json",
    ).tool_calls
    assert (got.name, got.arguments) == ("f", {})


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


@pytest.mark.requirement("chat:finish-that-fails")
@pytest.mark.parametrize("reason", ["insufficient_system_resource", "error"])
def test_a_finish_that_is_a_failure_comes_after_what_its_chunk_said(reason):
    events, error = read([stream(chunk({"content": "x"}, reason))])
    assert isinstance(error, ServerError)
    assert error.retryable
    assert any(isinstance(event, TextDeltaEvent) for event in events)


@pytest.mark.requirement("chat:refusal")
def test_a_refusal_is_text_with_its_own_stop_reason():
    got = answer(
        stream(chunk({"content": None, "refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"))
    )
    assert (got.text, got.stop_reason, got.raw_stop_reason) == ("I cannot.", "refusal", "stop")


@pytest.mark.requirement("chat:choices-empty", "chat:id-and-model-empty")
def test_chunks_without_choices_or_deltas_are_harmless():
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
def test_a_message_stands_in_for_a_delta_but_never_repeats_one():
    assert (
        answer(stream({**chunk(), "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})).text
        == "x"
    )
    repeated = {**chunk(), "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    assert answer(stream(chunk({"content": "x"}), repeated)).text == "x"


@pytest.mark.requirement("chat:other-choices")
def test_other_choices_than_the_first_are_left_out():
    two = {
        **chunk(),
        "choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "x"}}],
    }
    assert answer(stream(two, chunk({}, "stop"))).text == "x"


@pytest.mark.requirement("chat:done-missing", "chat:usage-may-be-missing")
def test_no_end_mark_is_needed_after_a_finish_reason():
    assert answer(stream(chunk({"content": "x"}, "stop"), done=False)).text == "x"
    assert answer(stream(chunk({"content": "x"}, "stop"), done=False)[:-1]).text == "x"


@pytest.mark.requirement("chat:done-missing")
@pytest.mark.parametrize("tail", [b"", b'data: {"choi', b"data: {}\n\n"])
def test_an_early_end_keeps_what_came(tail):
    events, error = read([stream(chunk({"content": "x"}), done=False) + tail])
    assert isinstance(error, ProtocolError)
    assert error.message == "acme ended its answer early."
    assert_laws(events, ended=False)
    assert any(isinstance(event, TextDeltaEvent) for event in events)


@pytest.mark.requirement("chat:empty-stream")
@pytest.mark.parametrize("data", [DONE.encode(), b"", b": comment\n\n"])
def test_an_empty_answer_is_a_protocol_error(data):
    assert isinstance(read([data])[1], ProtocolError)


def test_an_answer_of_nothing_but_garbage_shows_it():
    error = read([b"data: oops\n\n"])[1]
    assert isinstance(error, ProtocolError)
    assert error.message.endswith("not JSON: oops")


@pytest.mark.requirement("chat:garbage")
def test_an_event_that_is_no_json_is_left_out_with_one_warning():
    garbage = b"data: keep-alive\n\n"
    events, error = read([garbage, garbage, stream(chunk({"content": "Hi"}), chunk({}, "stop"))])
    assert error is None
    assert [event.code for event in events if isinstance(event, WarningEvent)] == ["unreadable_event"]


@pytest.mark.requirement("chat:garbage")
def test_a_broken_object_is_a_protocol_error_because_a_part_of_the_answer_is_lost():
    error = read([b'data: {"choices":[{"delta":{"con\n\n'])[1]
    assert isinstance(error, ProtocolError)


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"choices": []}', b'"text"'])
def test_a_body_that_is_no_answer_is_a_protocol_error(data):
    assert isinstance(read([data], "application/json")[1], ProtocolError)


ERRORS = [
    ({"error": {"message": "Too fast", "code": 429}}, None, RateLimitError),
    (
        {
            "error": {"message": "Provider returned error", "code": 502},
            "choices": [{"delta": {"content": ""}, "finish_reason": "error"}],
        },
        None,
        ServerError,
    ),
    (
        {
            "error": {
                "message": "Failed to call a function",
                "type": "invalid_request_error",
                "code": "tool_use_failed",
                "failed_generation": "x",
            }
        },
        "error",
        RequestError,
    ),
    ({"error": "Overloaded"}, None, ServerError),
    ({"message": "Bad key", "code": "invalid_api_key"}, "error", AuthenticationError),
    ({"object": "error", "message": "No", "type": "BadRequestError", "code": 400}, None, RequestError),
]


@pytest.mark.requirement("chat:error-in-stream")
@pytest.mark.parametrize(("payload", "name", "kind"), ERRORS)
def test_an_error_in_the_stream_comes_after_the_text_before_it(payload, name, kind):
    event = (f"event: {name}\n" if name else "") + f"data: {json.dumps(payload)}\n\n"
    events, error = read([stream(chunk({"content": "x"}), done=False) + event.encode() + DONE.encode()])
    assert type(error) is kind
    assert error.provider == "acme"
    assert any(isinstance(event, TextDeltaEvent) for event in events)


@pytest.mark.requirement("chat:error-in-stream")
def test_an_error_after_the_finish_reason_is_an_error_all_the_same():
    failed = {**chunk({"content": ""}, "error"), "error": {"message": "Provider disconnected", "code": 502}}
    events, error = read([stream(chunk({"content": "x"}), chunk({}, "length"), failed)])
    assert type(error) is ServerError
    assert_laws(events, ended=False)


@pytest.mark.requirement("chat:odd-objects")
def test_ids_and_models_that_change_are_those_of_the_first_chunk():
    data = stream(
        {**chunk({"content": "x"}), "object": "completion"},
        {**chunk({"content": "y"}, "stop"), "id": "r-2", "model": "m-2", "object": None},
    )
    got = answer(data)
    assert (got.text, got.response_id, got.model) == ("xy", "r-1", "m-1")


def test_an_error_in_a_body_with_status_200_is_an_error():
    assert isinstance(
        read([b'{"error": {"message": "Too fast", "code": 429}}'], "application/json")[1], RateLimitError
    )


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
    "reasoning beside": [chunk({"content": "x"}, "stop", usage={**COUNTS, "completion_tokens": 2})],
}


@pytest.mark.requirement("chat:usage-anywhere", "chat:usage-inclusive")
@pytest.mark.parametrize("name", USAGES)
def test_the_last_usage_counts_wherever_it_stands(name):
    data = stream(*USAGES[name])
    assert answer(data).usage == USAGE
    events, _ = read([data])
    assert [e for e in events if isinstance(e, UsageEvent)][-1].usage == USAGE


@pytest.mark.parametrize("count", ["1e999", "1" + "0" * 400, "-3", "true", '"5"', "[]"])
def test_a_count_that_is_none_counts_nothing(count):
    data = stream(chunk({"content": "x"}, "stop", usage={"prompt_tokens": 7, "cost": None}))
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


def test_citations_are_told_once_each():
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


def test_the_response_is_told_once_and_first():
    events, _ = read([stream(chunk({"content": "x"}), chunk({"content": "y"}, "stop"))])
    assert [i for i, event in enumerate(events) if isinstance(event, ResponseEvent)] == [0]


@pytest.mark.requirement("chat:done-then-open")
def test_nothing_comes_out_after_the_end_mark():
    decoder = ChatCompletionsDecoder("acme", "asked")
    decoder.feed_event("message", json.dumps(chunk({"content": "x"}, "stop")))
    assert not decoder.complete
    assert decoder.feed_event("message", "[DONE]")
    assert decoder.complete
    assert decoder.feed_event("message", json.dumps(chunk({"content": "y"}))) == []
    assert decoder.finish() == []
