"""What servers of this dialect send, one hand-written answer for each way of theirs."""

import json

import pytest

from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    CitationEvent,
    Fold,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ResponseEvent,
    ServerError,
    TextDeltaEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.anthropic_messages import (
    Call,
    Redacted,
    Thought,
    Words,
    error_body,
    event,
    message,
    message_body,
    message_stream,
)
from tests.unit.dialects.anthropic_messages.answers import (
    answer,
    block,
    ended,
    raw,
    read,
    response_of,
    started,
    stream,
)

TEXT = {"type": "text", "text": ""}
THINKING = {"type": "thinking", "thinking": "", "signature": ""}
EVERYTHING = (
    Thought(["Let me ", "see."], "sig=="),
    Redacted("cipher-1"),
    Redacted("cipher-2"),
    Words(["Hé", "llo"]),
    Call("toolu_1", "f", ['{"a"', ": 1}"]),
    Call("toolu_2", "g", []),
)


def words(text):
    return {"type": "text_delta", "text": text}


def json_piece(text):
    return {"type": "input_json_delta", "partial_json": text}


@pytest.mark.requirement("messages:stream", "messages:redacted", "messages:no-arguments")
def test_every_kind_of_block_in_one_stream():
    got = answer(stream(*EVERYTHING))
    thought, first, second, text, call, empty = got.content
    assert (thought.thinking, thought.signature) == ("Let me see.", "sig==")
    assert (first.data, second.data) == ("cipher-1", "cipher-2")
    assert text.text == got.text == "Héllo"
    assert (call.id, call.name, call.arguments, call.raw) == ("toolu_1", "f", {"a": 1}, '{"a": 1}')
    assert (empty.arguments, empty.raw, empty.error) == ({}, "", None)
    assert (got.stop_reason, got.raw_stop_reason) == ("tool_use", "tool_use")
    assert (got.model, got.response_id) == ("claude-fake", "msg_fake")
    assert {(each.origin.provider, each.origin.model) for each in got.content} == {("acme", "asked")}


@pytest.mark.requirement("messages:whole-body")
def test_a_whole_body_gives_what_a_stream_does():
    call = Call("toolu_1", "f", ['{"a":1}'])
    parts = (Thought(["Hm"]), Redacted("x"), Words(["Hi"]), call)
    whole = answer(json.dumps(message_body(*parts)).encode(), "application/json")
    assert whole == answer(stream(*parts))


@pytest.mark.requirement("messages:data-type")
def test_the_name_of_an_event_is_not_needed():
    assert answer(raw(*message_stream(*EVERYTHING), named=False)) == answer(stream(*EVERYTHING))


@pytest.mark.requirement("messages:unknown-events")
def test_what_is_not_known_is_ignored():
    got = answer(
        raw(
            started(),
            event("weather_report", sunny=True),
            *block(0, TEXT, words("a"), {"type": "colour_delta", "colour": "red"}, words("b")),
            event("ping"),
            event("message_delta", delta={"mood": "good"}, usage=None),
            *ended("a_new_reason"),
        )
    )
    assert got.text == "ab"
    assert (got.stop_reason, got.raw_stop_reason) == ("end_turn", "a_new_reason")


@pytest.mark.requirement("messages:signature")
def test_the_last_signature_counts_and_empty_thinking_keeps_its_own():
    got = answer(
        raw(
            started(),
            *block(0, THINKING, *({"type": "signature_delta", "signature": each} for each in ("a", "b"))),
            *block(1, {"type": "thinking", "thinking": "given", "signature": "s"}),
            *block(2, {"type": "thinking", "thinking": "unsigned"}),
            *ended(),
        )
    )
    assert [(each.thinking, each.signature) for each in got.content] == [
        ("", "b"),
        ("given", "s"),
        ("unsigned", None),
    ]


@pytest.mark.requirement("messages:cut-arguments")
@pytest.mark.parametrize("text", ['{"a": [1, 2', "[1]", '{"a": NaN}', "{} {}"])
def test_broken_arguments_are_never_repaired(text):
    got = answer(stream(Call("toolu_1", "f", [text]), stop_reason="max_tokens"))
    (call,) = got.tool_calls
    assert (call.arguments, call.raw, got.stop_reason) == (None, text, "max_tokens")
    assert call.error.startswith("The arguments of the call are not")


@pytest.mark.requirement("messages:input-in-start", "messages:replay-citations")
def test_an_input_that_comes_with_the_start_counts_if_no_delta_does():
    start = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": "é"}, "caller": {"type": "direct"}}
    got = answer(raw(started(), *block(0, start), *ended("tool_use")))
    (call,) = got.tool_calls
    assert (call.arguments, call.raw) == ({"a": "é"}, '{"a":"é"}')
    assert json.loads(call.opaque) == {"caller": {"type": "direct"}}
    got = answer(raw(started(), *block(0, start, json_piece(""), json_piece('{"b":2}')), *ended("tool_use")))
    assert got.tool_calls[0].arguments == {"b": 2}


@pytest.mark.requirement("messages:compaction", "messages:replay-other")
def test_blocks_without_a_type_here_are_kept_whole():
    server = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"encrypted_content": "e"}]}
    compaction = {"type": "compaction", "content": None}
    pieces = [{"type": "compaction_delta", "content": each} for each in ("Sum", "mary")]
    got = answer(
        raw(
            started(),
            *block(0, server, json_piece(""), json_piece('{"q":'), json_piece('"é"}')),
            *block(1, result),
            *block(2, compaction, *pieces),
            *block(3, server, json_piece('{"q')),
            *ended("compaction"),
        )
    )
    assert [each.kind for each in got.content] == [
        "server_tool_use",
        "web_search_tool_result",
        "compaction",
        "server_tool_use",
    ]
    assert [json.loads(each.opaque) for each in got.content] == [
        {**server, "input": {"q": "é"}},
        result,
        {"type": "compaction", "content": "Summary"},
        {**server, "input": {"INVALID_JSON": '{"q'}},
    ]
    assert got.content[2].text == "Summary"
    assert got.stop_reason == "pause_turn"


@pytest.mark.requirement("messages:citations", "messages:replay-citations")
def test_citations_belong_to_their_text_block():
    web = {"type": "web_search_result_location", "url": "https://a.example/", "title": "A", "cited_text": "x"}
    page = {"type": "char_location", "document_index": 0, "document_title": "Doc", "cited_text": "y"}
    cited = [{"type": "citations_delta", "citation": each} for each in (web, page)]
    data = raw(
        started(),
        *block(0, TEXT, words("No source. ")),
        *block(1, {**TEXT, "citations": []}, cited[0], words("One."), cited[1]),
        *ended(),
    )
    events, _ = read([data])
    assert [each for each in events if isinstance(each, CitationEvent)] == [
        CitationEvent(1, "https://a.example/", "A"),
        CitationEvent(1, None, "Doc"),
    ]
    got = answer(data)
    assert [each.text for each in got.content] == ["No source. ", "One."]
    assert got.content[0].opaque is None
    assert json.loads(got.content[1].opaque) == {"citations": [web, page]}


@pytest.mark.requirement("messages:stop-reasons")
@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_exceeded"),
        ("compaction", "pause_turn"),
        ("tool_use", "end_turn"),
    ],
)
def test_stop_reasons(told, reason):
    got = answer(stream(Words(["x"]), stop_reason=told))
    assert (got.stop_reason, got.raw_stop_reason) == (reason, told)


@pytest.mark.requirement("messages:stop-reasons")
def test_an_imitator_that_ends_the_turn_after_a_call_means_the_call():
    assert answer(stream(Call("t", "f"), stop_reason="end_turn")).stop_reason == "tool_use"


@pytest.mark.requirement("messages:stop-reasons")
@pytest.mark.parametrize("explanation", ["Not this.", None])
def test_a_refusal_says_why(explanation):
    details = {"type": "refusal", "category": "frontier_llm", "explanation": explanation}
    events, _ = read([raw(started(), *ended("refusal", stop_details=details))])
    (warning,) = [each for each in events if isinstance(each, WarningEvent)]
    assert warning.code == "refusal"
    assert "(frontier llm)" in warning.message
    assert (explanation or "leave it out") in warning.message
    assert_laws(events)


@pytest.mark.requirement("messages:usage-cumulative", "messages:usage-cache")
def test_usage_is_overwritten_field_by_field_and_includes_the_cache():
    first = {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 100}
    second = {"output_tokens": 20, "input_tokens": None, "cache_creation_input_tokens": 30}
    last = {"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 15}}
    data = raw(
        started(usage=first),
        event("message_delta", delta={}, usage=second),
        *ended(usage=last),
    )
    events, _ = read([data])
    told = [each.usage for each in events if isinstance(each, UsageEvent)]
    assert told == [
        Usage(107, 1, 100, 0),
        Usage(137, 20, 100, 30),
        Usage(137, 40, 100, 30, reasoning_tokens=15),
    ]
    assert events[-1].usage == told[-1]


def test_a_gateway_that_counts_only_at_the_end_is_believed():
    zero = {"input_tokens": 0, "output_tokens": 0}
    got = answer(raw(started(usage=zero), *ended(usage={"input_tokens": 61, "output_tokens": 2})))
    assert got.usage == Usage(61, 2)
    assert answer(raw(started(usage=None), *ended())).usage == Usage()


ERRORS = [
    ("overloaded_error", "Overloaded", {}, ServerError, True),
    ("api_error", "Internal server error", {}, ServerError, True),
    ("timeout_error", "Timed out", {}, ServerError, True),
    ("rate_limit_error", "Slow down", {}, RateLimitError, True),
    ("authentication_error", "invalid x-api-key", {}, AuthenticationError, False),
    ("permission_error", "No", {}, AuthorizationError, False),
    ("billing_error", "Pay", {}, QuotaExceededError, False),
    ("invalid_request_error", "Bad", {}, RequestError, False),
    ("not_found_error", "model: x", {}, RequestError, False),
    ("request_too_large", "Too much", {}, RequestError, False),
    (
        "rate_limit_error",
        "Blocked",
        {"details": {"error_code": "enforced_spend_limit_reached"}},
        QuotaExceededError,
        False,
    ),
]


@pytest.mark.requirement("messages:in-stream-error", "messages:error-body")
@pytest.mark.parametrize(("kind", "text", "more", "expected", "retryable"), ERRORS)
def test_an_error_in_the_stream_is_what_its_type_says(kind, text, more, expected, retryable):
    data = raw(
        started(),
        event("content_block_start", index=0, content_block=TEXT),
        event("content_block_delta", index=0, delta=words("Hel")),
        ("error", error_body(kind, text, **more)),
    )
    events, error = read([data])
    assert type(error) is expected
    assert (error.retryable, error.provider_request_id) == (retryable, "req_fake")
    assert error.provider_code == (more["details"]["error_code"] if more else kind)
    assert text in error.message
    fold = Fold("acme", "asked")
    for each in events:
        fold.add(each)
    assert fold.partial().text == "Hel"


@pytest.mark.requirement("messages:error-body")
def test_an_error_as_a_whole_body_is_raised_though_the_status_was_good():
    _, error = read([json.dumps(error_body("overloaded_error", "Overloaded")).encode()], "application/json")
    assert isinstance(error, ServerError)
    _, error = read([b'data: {"error": {"message": "upstream failed"}}\n\n'])
    assert isinstance(error, ChatError)


@pytest.mark.requirement("messages:duplicate-start")
def test_a_second_start_before_any_content_changes_nothing():
    data = raw(started(), *message_stream(Words(["Hi"])))
    events, _ = read([data])
    assert sum(isinstance(each, ResponseEvent) for each in events) == 1
    assert answer(data) == answer(stream(Words(["Hi"])))


@pytest.mark.requirement("messages:spliced-start")
def test_a_start_after_content_throws_away_what_came_before():
    second = message(id="msg_second", usage={"input_tokens": 3, "output_tokens": 1})
    data = raw(
        started(),
        *block(0, THINKING, {"type": "signature_delta", "signature": "first"}),
        *block(1, TEXT, words("gone")),
        *block(2, TEXT, words("gone too")),
        event(
            "content_block_start",
            index=3,
            content_block={"type": "tool_use", "id": "x", "name": "f", "input": {}},
        ),
        event("content_block_delta", index=3, delta=json_piece('{"a')),
        event("message_start", message=second),
        *block(0, TEXT, words("kept")),
        *ended(usage={"output_tokens": 9}),
    )
    got = answer(data)
    assert [each.text for each in got.content] == ["kept"]
    assert (got.response_id, got.usage) == ("msg_second", Usage(3, 9))
    events, _ = read([data])
    assert [each.code for each in events if isinstance(each, WarningEvent)] == ["answer_restarted"]


@pytest.mark.requirement("messages:done-mark")
@pytest.mark.parametrize("stop", [True, False])
def test_a_done_mark_at_the_end_is_accepted(stop):
    got = answer(raw(started(), *block(0, TEXT, words("Hi")), *ended(stop=stop), "[DONE]"))
    assert (got.text, got.stop_reason) == ("Hi", "end_turn")


@pytest.mark.requirement("messages:prefilled-start")
def test_an_answer_inside_message_start_counts():
    content = [
        {"type": "text", "text": "Rolling"},
        {"type": "tool_use", "id": "t", "name": "roll", "input": {"player": 1}},
    ]
    start = event("message_start", message=message(content, "tool_use"))
    got = answer(raw(start, event("message_stop")))
    assert got == answer(raw(start))
    assert (got.text, got.tool_calls[0].arguments, got.stop_reason) == ("Rolling", {"player": 1}, "tool_use")


@pytest.mark.requirement("messages:empty-turn")
def test_an_answer_without_content_is_empty():
    got = answer(stream())
    assert (got.content, got.stop_reason) == ([], "end_turn")
    assert answer(json.dumps(message_body()).encode(), "application/json").content == []
    assert answer(raw(started(), *block(0, TEXT), *ended())).content == []


@pytest.mark.requirement("messages:early-end")
def test_an_answer_cut_at_any_event_is_a_protocol_error_with_the_partial_kept():
    events = message_stream(Words(["Hel", "lo"]), Call("t", "f"))
    for count in range(len(events) - 2):
        got, error = read([raw(*events[:count])])
        assert isinstance(error, ProtocolError), count
        assert "Hello".startswith("".join(each.text for each in got if isinstance(each, TextDeltaEvent)))
        assert_laws(got, ended=False)
    assert read([raw(*events[:-1])])[1] is None
    _, error = read([b"data: [DONE]\n\n"])
    assert isinstance(error, ProtocolError)


@pytest.mark.requirement("messages:missing-stop")
def test_missing_starts_and_stops_are_made_up_for():
    bare = raw(
        started(),
        event("content_block_start", index=0, content_block=THINKING),
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm"}),
        event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "sig"}),
        event("content_block_start", index=1, content_block=TEXT),
        event("content_block_delta", index=1, delta=words("a")),
        event("content_block_start", index=2, content_block=TEXT),
        event("content_block_delta", index=2, delta=words("b")),
        *ended(stop=False),
    )
    got = answer(bare)
    assert [each.type for each in got.content] == ["thinking", "text", "text"]
    assert got.content[0].signature == "sig"
    without_start = raw(
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm"}),
        event("content_block_delta", index=1, delta=words("Hi")),
        event("content_block_delta", index=2, delta=json_piece("{}")),
        event("content_block_stop", index=7),
        *ended(),
    )
    got = answer(without_start)
    assert ([each.type for each in got.content], got.model) == (["thinking", "text"], "asked")


def test_parallel_calls_that_interleave_are_kept_apart():
    def call(index):
        return event(
            "content_block_start",
            index=index,
            content_block={"type": "tool_use", "id": f"t{index}", "name": "f", "input": {}},
        )

    def piece(index, text):
        return event("content_block_delta", index=index, delta=json_piece(text))

    got = answer(
        raw(started(), call(0), call(1), piece(0, '{"n":'), piece(1, '{"n":'), piece(0, "0}"), piece(1, "1}"),
            *ended("tool_use"))
    )  # fmt: skip
    assert [(each.id, each.arguments) for each in got.tool_calls] == [("t0", {"n": 0}), ("t1", {"n": 1})]


@pytest.mark.requirement("messages:split-utf8")
def test_characters_cut_between_reads_are_put_together():
    text = "naïve 🙂 日本"
    data = stream(Words([text]))
    for size in (1, 2, 3):
        events, error = read([data[i : i + size] for i in range(0, len(data), size)])
        assert error is None
        assert response_of(events).text == text


def test_half_a_surrogate_pair_does_not_lose_the_answer():
    piece = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
    start = event("content_block_start", index=0, content_block=TEXT)
    assert answer(raw(started(), start, piece, *ended())).text == "a\ufffd"


@pytest.mark.parametrize("data", ["{broken", "[]", "3"])
def test_what_is_no_event_is_a_protocol_error(data):
    _, error = read([raw(started(), data)])
    assert isinstance(error, ProtocolError)


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"choices": []}', b'{"type": "message", "content": [{"ty']
)
def test_a_body_that_is_no_message_is_a_protocol_error(body):
    _, error = read([body], "application/json")
    assert isinstance(error, ProtocolError)
