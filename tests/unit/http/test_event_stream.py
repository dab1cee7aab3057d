"""The event-stream reader, with hand-written cases and the cases of web-platform-tests."""

import base64
import json
import time
from pathlib import Path

import pytest

from jumpseat.chat import ProtocolError, TextDeltaEvent
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.http.answer import AnswerReader
from jumpseat.http.event_stream import EventStreamDecoder, ServerSentEvent

WPT = Path(__file__).parents[4] / "shared" / "data" / "wpt_eventsource_cases.json"

CASES = {
    "one event": (b"data: a\n\n", [("message", "a", "")]),
    "no space after the colon": (b"data:a\n\n", [("message", "a", "")]),
    "only the first space is removed": (b"data:  a\n\n", [("message", " a", "")]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [("message", "a", ""), ("message", "b", "")]),
    "CR": (b"data: a\r\rdata: b\r\r", [("message", "a", ""), ("message", "b", "")]),
    "mixed line endings": (
        b"data: a\r\ndata: b\n\rdata: c\r\r\n",
        [("message", "a\nb", ""), ("message", "c", "")],
    ),
    "several data lines": (b"data: a\ndata\ndata:b\n\n", [("message", "a\n\nb", "")]),
    "data that is empty": (b"data\n\ndata:\n\n", [("message", "", ""), ("message", "", "")]),
    "no data, no event": (b"event: x\n\ndata: a\n\n", [("message", "a", "")]),
    "a named event": (b"event: error\ndata: {}\n\ndata: a\n\n", [("error", "{}", ""), ("message", "a", "")]),
    "comments": (b": hello\n\n:\n\ndata: a\n: in between\n\n", [("message", "a", "")]),
    "unknown fields": (b"date: 1\nData: no\n data: no\ndata: a\n\n", [("message", "a", "")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [("message", "a", "")]),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbfdata: no\n\ndata: a\n\n", [("message", "a", "")]),
    "a byte order mark later": (b"data: a\n\n\xef\xbb\xbfdata: no\n\n", [("message", "a", "")]),
    "text of several bytes": ("data: žluť 🐎\n\n".encode(), [("message", "žluť 🐎", "")]),
    "broken UTF-8": (b"data: \xff\xf0\x9f\n\n", [("message", "\ufffd\ufffd", "")]),
    "ids": (
        b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
        [("message", "a", "1"), ("message", "b", "1"), ("message", "c", "")],
    ),
    "an id with NUL": (
        b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
        [("message", "a", "1"), ("message", "b", "1")],
    ),
    "an id without data": (b"id: 7\n\ndata: a\n\n", [("message", "a", "7")]),
    "blank lines at the start": (b"\n\n\n\ndata: a\n\n\n\n", [("message", "a", "")]),
    "one blank line at the start": (b"\ndata: a\n\n", [("message", "a", "")]),
    "an unfinished event": (b"data: a\n\ndata: b\n", [("message", "a", "")]),
    "an incomplete byte order mark": (b"\xef\xbbdata: no\n\ndata: a\n\n", [("message", "a", "")]),
    "characters that do not end a line": (
        "data: a\u2028b\x0b\x0c\x85c\n\n".encode(),
        [("message", "a\u2028b\x0b\x0c\x85c", "")],
    ),
}


def arrivals(data):
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    for cut in range(1, len(data)):
        yield [data[:cut], data[cut:]]
        yield [data[:cut], b"", data[cut:]]


def read(pieces):
    decoder = EventStreamDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [(e.event, e.data, e.last_event_id) for e in events], decoder


@pytest.mark.requirement("chat:line-endings", "chat:comments")
@pytest.mark.parametrize("name", CASES)
def test_the_events_are_the_same_for_any_split(name):
    data, expected = CASES[name]
    for pieces in arrivals(data):
        assert read(pieces)[0] == expected, pieces


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"retry: 10", 10),
        (b"retry:1000x", None),
        (b"retry", None),
        (b"retry: -1", None),
        (b"retry: " + b"9" * 5000, None),
    ],
)
def test_a_retry_time_that_is_not_a_number_or_too_long_is_ignored(line, expected):
    assert read([line + b"\n\n"])[1].retry_ms == expected


def test_an_event_does_not_wait_for_the_byte_after_its_last_carriage_return():
    decoder = EventStreamDecoder()
    assert decoder.feed(b"data: a\r\n\r") == [ServerSentEvent("message", "a", "")]
    assert decoder.feed(b"\ndata: b\r\r") == [ServerSentEvent("message", "b", "")]


@pytest.mark.parametrize("tail", [b"data: b", b"data: b\n", b"data: b\r\n"])
def test_finish_returns_an_event_without_its_blank_line(tail):
    decoder = EventStreamDecoder()
    assert len(decoder.feed(b"data: a\n\n" + tail)) == 1
    assert decoder.finish() == [ServerSentEvent("message", "b", "")]
    assert decoder.finish() == []


def test_finish_returns_nothing_after_a_complete_or_empty_stream():
    decoder = EventStreamDecoder()
    assert decoder.finish() == []
    decoder.feed(b"data: a\n\n: bye\n")
    assert decoder.finish() == []


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_endless_event_is_refused(size):
    decoder = EventStreamDecoder(max_event_bytes=100)
    for _ in range(100 // size):
        decoder.feed(b"x" * size)
    with pytest.raises(ProtocolError, match="more than 100 bytes"):
        decoder.feed(b"x" * size)


def test_a_whole_event_that_is_too_long_is_refused_too():
    for prefix in (b"data: ", b"data:"):
        with pytest.raises(ProtocolError):
            EventStreamDecoder(max_event_bytes=100).feed(prefix + b"x" * 100 + b"\n\n")


def test_a_long_event_in_small_pieces_takes_linear_time():
    decoder = EventStreamDecoder()
    started = time.process_time()
    for _ in range(300_000):
        decoder.feed(b"xxxx")
    assert time.process_time() - started < 5


def is_refused(pieces, content_type):
    """Return whether a stream with this content type is rejected before its events reach the decoder."""
    reader, out = AnswerReader(ChatCompletionsDecoder("acme", "m"), content_type), []
    try:
        for piece in pieces:
            reader.feed(piece, out)
    except ProtocolError as error:
        return out == [] and "content type" in error.message
    return False


@pytest.mark.parametrize("content_type", ["text/x-bogus", "x bogus", "text/html; charset=utf-8"])
def test_a_stream_with_another_content_type_is_refused(content_type):
    for pieces in arrivals(b"data: {}\n\n"):
        assert is_refused(pieces, content_type)


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/octet-stream"])
def test_a_stream_with_a_generic_content_type_is_read(content_type):
    reader = AnswerReader(ChatCompletionsDecoder("acme", "m"), content_type)
    out = []
    reader.feed(b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n', out)
    assert any(isinstance(event, TextDeltaEvent) for event in out)


@pytest.mark.skipif(not WPT.exists(), reason=f"the cases of web-platform-tests are not at {WPT}")
def test_web_platform_tests_pass_for_any_split():
    cases = json.loads(WPT.read_text())["cases"]
    assert len(cases) == 30
    for case in cases:
        data = base64.b64decode(case["input_b64"])
        if case["connection"] == "fail":
            for pieces in arrivals(data):
                assert is_refused(pieces, case["content_type"]), (case["name"], pieces)
            continue
        expected = [(e["type"], e["data"], e["lastEventId"]) for e in case["events"]]
        for pieces in arrivals(data):
            events, decoder = read(pieces)
            assert events == expected, (case["name"], pieces)
            assert decoder.last_event_id == case["last_event_id_after"], case["name"]
            assert decoder.retry_ms == case["reconnection_time_ms"], case["name"]
