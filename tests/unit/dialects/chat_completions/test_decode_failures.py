"""Answers in this dialect that end early, are unreadable, or report a failure."""

import json

import pytest

from jumpseat.chat import (
    AuthenticationError,
    ProtocolError,
    RateLimitError,
    RequestError,
    ServerError,
    TextDeltaEvent,
    WarningEvent,
)
from jumpseat.testing import assert_laws
from tests.unit.dialects.chat_completions.answers import DONE, chunk, read, stream


@pytest.mark.requirement("chat:finish-that-fails")
@pytest.mark.parametrize("reason", ["insufficient_system_resource", "error"])
def test_the_error_of_a_finish_reason_comes_after_the_text_of_its_chunk(reason):
    events, error = read([stream(chunk({"content": "x"}, reason))])
    assert isinstance(error, ServerError)
    assert error.retryable
    assert any(isinstance(event, TextDeltaEvent) for event in events)


@pytest.mark.requirement("chat:done-missing")
@pytest.mark.parametrize("tail", [b"", b'data: {"choi', b"data: {}\n\n"])
def test_an_early_end_keeps_the_partial(tail):
    events, error = read([stream(chunk({"content": "x"}), done=False) + tail])
    assert isinstance(error, ProtocolError)
    assert error.message == "acme ended its answer early."
    assert_laws(events, ended=False)
    assert any(isinstance(event, TextDeltaEvent) for event in events)


@pytest.mark.requirement("chat:empty-stream")
@pytest.mark.parametrize("data", [DONE.encode(), b"", b": comment\n\n"])
def test_an_empty_answer_is_a_protocol_error(data):
    assert isinstance(read([data])[1], ProtocolError)


def test_the_error_of_an_unreadable_answer_quotes_it():
    error = read([b"data: oops\n\n"])[1]
    assert isinstance(error, ProtocolError)
    assert error.message.endswith("not JSON: oops")


@pytest.mark.requirement("chat:garbage")
def test_an_event_that_is_not_json_is_left_out_with_one_warning():
    garbage = b"data: keep-alive\n\n"
    events, error = read([garbage, garbage, stream(chunk({"content": "Hi"}), chunk({}, "stop"))])
    assert error is None
    assert [event.code for event in events if isinstance(event, WarningEvent)] == ["unreadable_event"]


@pytest.mark.requirement("chat:garbage")
def test_a_broken_json_object_is_a_protocol_error():
    error = read([b'data: {"choices":[{"delta":{"con\n\n'])[1]
    assert isinstance(error, ProtocolError)


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"choices": []}', b'"text"'])
def test_a_body_that_is_not_an_answer_is_a_protocol_error(data):
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
def test_an_error_after_the_finish_reason_is_an_error_too():
    failed = {**chunk({"content": ""}, "error"), "error": {"message": "Provider disconnected", "code": 502}}
    events, error = read([stream(chunk({"content": "x"}), chunk({}, "length"), failed)])
    assert type(error) is ServerError
    assert_laws(events, ended=False)


def test_an_error_in_a_body_with_status_200_is_an_error():
    assert isinstance(
        read([b'{"error": {"message": "Too fast", "code": 429}}'], "application/json")[1], RateLimitError
    )
