"""Answers in the Messages dialect that fail, restart, end early or are out of order."""

import json

import pytest

from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    Fold,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ResponseEvent,
    ServerError,
    TextDeltaEvent,
    Usage,
    WarningEvent,
)
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.anthropic_messages import (
    Call,
    Words,
    error_body,
    event,
    message,
    message_body,
    message_stream,
)
from tests.unit.dialects.anthropic_messages.answers import (
    TEXT,
    THINKING,
    answer,
    block,
    end_events,
    json_piece,
    raw,
    read,
    response_of,
    start_event,
    stream,
    words,
)

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
def test_the_type_of_an_error_in_the_stream_determines_its_class(kind, text, more, expected, retryable):
    data = raw(
        start_event(),
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
def test_an_error_body_with_status_200_is_raised():
    _, error = read([json.dumps(error_body("overloaded_error", "Overloaded")).encode()], "application/json")
    assert isinstance(error, ServerError)
    _, error = read([b'data: {"error": {"message": "upstream failed"}}\n\n'])
    assert isinstance(error, ChatError)


@pytest.mark.requirement("messages:duplicate-start")
def test_a_second_start_before_any_content_changes_nothing():
    data = raw(start_event(), *message_stream(Words(["Hi"])))
    events, _ = read([data])
    assert sum(isinstance(each, ResponseEvent) for each in events) == 1
    assert answer(data) == answer(stream(Words(["Hi"])))


@pytest.mark.requirement("messages:spliced-start")
def test_a_start_after_content_discards_the_answer_so_far():
    second = message(id="msg_second", usage={"input_tokens": 3, "output_tokens": 1})
    data = raw(
        start_event(),
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
        *end_events(usage={"output_tokens": 9}),
    )
    got = answer(data)
    assert [each.text for each in got.content] == ["kept"]
    assert (got.response_id, got.usage) == ("msg_second", Usage(3, 9))
    events, _ = read([data])
    assert [each.code for each in events if isinstance(each, WarningEvent)] == ["answer_restarted"]


@pytest.mark.requirement("messages:done-mark")
@pytest.mark.parametrize("stop", [True, False])
def test_a_done_mark_at_the_end_is_accepted(stop):
    got = answer(raw(start_event(), *block(0, TEXT, words("Hi")), *end_events(stop=stop), "[DONE]"))
    assert (got.text, got.stop_reason) == ("Hi", "end_turn")


@pytest.mark.requirement("messages:prefilled-start")
def test_content_in_message_start_is_used():
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
    assert answer(raw(start_event(), *block(0, TEXT), *end_events())).content == []


@pytest.mark.requirement("messages:early-end")
def test_a_truncated_answer_is_a_protocol_error_with_its_partial():
    events = message_stream(Words(["Hel", "lo"]), Call("t", "f"))
    for count in range(len(events) - 1):
        got, error = read([raw(*events[:count])])
        assert isinstance(error, ProtocolError), count
        assert "Hello".startswith("".join(each.text for each in got if isinstance(each, TextDeltaEvent)))
        assert_laws(got, ended=False)
    # An answer is complete even without its last event, `message_stop`.
    assert read([raw(*events[:-1])])[1] is None
    _, error = read([b"data: [DONE]\n\n"])
    assert isinstance(error, ProtocolError)


@pytest.mark.requirement("messages:missing-stop")
def test_missing_starts_and_stops_are_added():
    bare = raw(
        start_event(),
        event("content_block_start", index=0, content_block=THINKING),
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm"}),
        event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "sig"}),
        event("content_block_start", index=1, content_block=TEXT),
        event("content_block_delta", index=1, delta=words("a")),
        event("content_block_start", index=2, content_block=TEXT),
        event("content_block_delta", index=2, delta=words("b")),
        *end_events(stop=False),
    )
    got = answer(bare)
    assert [each.type for each in got.content] == ["thinking", "text", "text"]
    assert got.content[0].signature == "sig"
    without_start = raw(
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm"}),
        event("content_block_delta", index=1, delta=words("Hi")),
        event("content_block_delta", index=2, delta=json_piece("{}")),
        event("content_block_stop", index=7),
        *end_events(),
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
        raw(start_event(), call(0), call(1), piece(0, '{"n":'), piece(1, '{"n":'),
            piece(0, "0}"), piece(1, "1}"), *end_events("tool_use"))
    )  # fmt: skip
    assert [(each.id, each.arguments) for each in got.tool_calls] == [("t0", {"n": 0}), ("t1", {"n": 1})]


@pytest.mark.requirement("messages:split-utf8")
def test_characters_cut_between_reads_are_joined():
    text = "naïve 🙂 日本"
    data = stream(Words([text]))
    for size in (1, 2, 3):
        events, error = read([data[i : i + size] for i in range(0, len(data), size)])
        assert error is None
        assert response_of(events).text == text


def test_half_a_surrogate_pair_does_not_lose_the_answer():
    piece = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
    start = event("content_block_start", index=0, content_block=TEXT)
    assert answer(raw(start_event(), start, piece, *end_events())).text == "a\ufffd"


@pytest.mark.parametrize("data", ["{broken", "[]", "3"])
def test_data_that_is_not_an_event_is_a_protocol_error(data):
    _, error = read([raw(start_event(), data)])
    assert isinstance(error, ProtocolError)


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"choices": []}', b'{"type": "message", "content": [{"ty']
)
def test_a_body_that_is_not_a_message_is_a_protocol_error(body):
    _, error = read([body], "application/json")
    assert isinstance(error, ProtocolError)
