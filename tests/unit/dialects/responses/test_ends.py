"""Ends of answers in the Responses dialect: incomplete, failed, truncated or unreadable."""

import json

import pytest

from jumpseat.chat import (
    ContentFilterError,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ServerError,
    WarningEvent,
)
from tests.unit.dialects.responses.answers import (
    CREATED,
    added_event,
    answer,
    done_event,
    end_event,
    events_of,
    failure,
    read,
    stream,
    text,
    text_parts,
)
from tests.unit.dialects.responses.test_decode import MESSAGE, USAGE


@pytest.mark.requirement("responses:incomplete")
@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("max_output_tokens", "max_tokens"),
        ("content_filter", "content_filter"),
        ("max_messages", "pause_turn"),
        ("steered", "pause_turn"),
        ("something_new", "end_turn"),
    ],
)
def test_an_incomplete_answer_has_its_reason_as_stop_reason(reason, stop):
    end = end_event(kind="incomplete", incomplete_details={"reason": reason})
    response = answer(CREATED, added_event(0, "message"), text("Hel"), end)
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("Hel", stop, reason)


@pytest.mark.requirement("responses:incomplete-without-reason")
@pytest.mark.parametrize("details", [None, {"reason": None}, {"reason": "something_new"}])
@pytest.mark.parametrize(
    ("limit", "stop", "codes"),
    [
        (None, "end_turn", ["unknown_stop_reason"]),
        (9, "end_turn", ["unknown_stop_reason"]),
        (8, "max_tokens", []),
    ],
)
def test_an_incomplete_answer_without_a_known_reason_may_have_reached_the_limit(details, limit, stop, codes):
    usage = {"input_tokens": 3, "output_tokens": 8}
    end = end_event(
        kind="incomplete",
        status="incomplete",
        incomplete_details=details,
        max_output_tokens=limit,
        usage=usage,
    )
    response = answer(CREATED, added_event(0, "message"), text("Hel"), end)
    assert (response.text, response.stop_reason) == ("Hel", stop)
    assert [warning.code for warning in response.warnings] == codes


@pytest.mark.requirement("responses:failed")
@pytest.mark.parametrize(
    ("kind", "error", "expected"),
    [
        ("failed", {"code": "server_error", "message": "Oops"}, ServerError),
        ("failed", {"code": "rate_limit_exceeded", "message": "Slow down"}, RateLimitError),
        ("failed", {"code": "insufficient_quota", "message": "Pay"}, QuotaExceededError),
        ("failed", {"code": "invalid_prompt", "message": "No"}, RequestError),
        ("failed", {"code": "invalid_prompt", "message": "The prompt was flagged"}, ContentFilterError),
        ("failed", {"code": "image_too_large", "message": "No"}, RequestError),
        ("failed", None, ServerError),
        ("cancelled", None, ProtocolError),
    ],
)
def test_a_failed_response_is_an_error_after_its_partial(kind, error, expected):
    got, partial = failure(CREATED, added_event(0, "message"), text("Hel"), end_event(kind=kind, error=error))
    assert type(got) is expected
    assert partial.text == "Hel"
    body = end_event(kind=kind, error=error)["response"]
    _, whole_error = read([json.dumps(body).encode()], "application/json")
    assert type(whole_error) is expected


def test_the_tokens_of_a_failed_response_are_reported():
    end = end_event(kind="failed", error={"code": "server_error"}, usage=USAGE)
    _, partial = failure(CREATED, added_event(0, "message"), text("Hel"), end)
    assert partial.usage.input_tokens == 10


@pytest.mark.requirement("responses:error-event")
@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": None},
        {"type": "error", "error": {"type": "x", "code": "rate_limit_exceeded", "message": "Slow down"}},
    ],
)
def test_flat_and_nested_error_events_are_raised(event):
    end = end_event(kind="failed", error={"code": "server_error", "message": "Later"})
    got, partial = failure(CREATED, added_event(0, "message"), text("Hel"), event, end)
    assert type(got) is RateLimitError
    assert "Slow down" in got.message
    assert partial.text == "Hel"


@pytest.mark.requirement("responses:no-terminal")
@pytest.mark.parametrize(
    "events",
    [[], [added_event(0, "message"), text("Hel")], [done_event(0, "message", content=text_parts("Hel"))]],
)
def test_an_answer_without_its_end_keeps_the_partial(events):
    got, partial = failure(CREATED, *events)
    assert type(got) is ProtocolError
    assert partial.text == ("Hel" if events else "")


@pytest.mark.requirement("responses:done-mark")
def test_the_end_mark_is_optional_and_sufficient_for_a_complete_answer():
    finished = [
        CREATED,
        added_event(0, "message"),
        text("Hello"),
        done_event(0, "message", content=text_parts("Hello")),
    ]
    assert answer(*finished, end_event(MESSAGE), "[DONE]").text == "Hello"
    response = answer(*finished, "[DONE]")
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("Hello", "end_turn", None)
    for unfinished in (finished[:1], finished[:3]):
        assert type(failure(*unfinished, "[DONE]")[0]) is ProtocolError


@pytest.mark.requirement("responses:garbage")
@pytest.mark.parametrize("garbage", ["{not json", "[1]", '"x"', '{"type":"response.output_text.delta","del'])
def test_an_event_that_cannot_be_read_is_left_out_with_a_warning(garbage):
    events = events_of(
        CREATED,
        added_event(0, "message"),
        text("Hel"),
        garbage,
        garbage,
        done_event(0, "message", content=text_parts("Hello")),
        end_event(),
    )
    assert [event.code for event in events if isinstance(event, WarningEvent)] == ["unreadable_event"]
    assert "".join(event.text for event in events if event.type == "text_delta") == "Hello"


@pytest.mark.requirement("responses:garbage")
@pytest.mark.parametrize(
    "rest",
    [
        [text(" world"), done_event(0, "message", content=text_parts("Hello world")), end_event()],
        [text(" world"), end_event()],
    ],
)
def test_text_that_was_lost_with_an_event_is_an_error(rest):
    got, partial = failure(CREATED, added_event(0, "message"), text("Hel"), "{garbage", *rest)
    assert type(got) is ProtocolError
    assert partial.text.startswith("Hel")


@pytest.mark.requirement("responses:garbage")
def test_the_last_event_may_be_unreadable():
    finished = done_event(0, "function_call", "fc", call_id="c", name="f", arguments="{}")
    for last in (
        '{"type":"response.completed","response":{"id":',
        b"event: response.completed\ndata: {x\n\n",
    ):
        data = stream(CREATED, finished) + (last if isinstance(last, bytes) else stream(last))
        events, error = read([data])
        assert error is None
        assert events[-1].stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error": {"code": "rate_limit_exceeded", "message": "Slow down"}}', RateLimitError),
        (b'{"status": "completed"}', ProtocolError),
        (b'{"status": "queued", "output": []}', ProtocolError),
        (b"[]", ProtocolError),
        (b'{"output": [', ProtocolError),
    ],
)
def test_a_body_that_is_not_an_answer_is_an_error(body, expected):
    events, error = read([body], "application/json")
    assert (events, type(error)) == ([], expected)
