"""Exchanges: JSON, NDJSON, content types, limits, unusual requests."""

import asyncio
import gzip
import json
import time

import pytest

from jumpseat.chat import (
    ChatError,
    ConfigError,
    ConnectionError,
    ProtocolError,
    RequestError,
    TextDeltaEvent,
    WarningEvent,
)
from jumpseat.http import (
    HttpCall,
    HttpClient,
    JsonLinesDecoder,
    fetch,
    get_json,
    pools,
    stream_events,
)
from jumpseat.http import answer as answer_module
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.unit.http.echo import EchoDecoder

WAIT_SECONDS = 30


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def upstream():
    async with FakeUpstream() as server:
        yield server


async def read_text(http, upstream, reply, **call):
    upstream.script(reply)
    events, error = [], None
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            call = HttpCall("POST", upstream.origin, **{"body": {}, **call})
            async for event in stream_events(http, call, EchoDecoder(), provider="acme"):
                events.append(event)  # noqa: PERF401 - the events before a failure must not be lost
    except ChatError as failure:
        error = failure
    return "".join(event.text for event in events if isinstance(event, TextDeltaEvent)), error


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/event-stream; charset=utf-8", b"data: a\n\nevent: x\ndata: b\n\n", "message=a;x=b;"),
        ("TEXT/EVENT-STREAM", b"data: a\n\n", "message=a;"),
        ("application/x-ndjson", b'{"a":1}\r\n\n{"b":2}', 'message={"a":1};message={"b":2};'),
        ("application/json", b"{}", "body={};"),
        ("application/problem+json", b"{}", "body={};"),
        ("", b"\n\ndata: a\n\n", "message=a;"),
        ("text/plain", b": hello\n\ndata: a\n\n", "message=a;"),
        ("text/plain", b" {}", "body={};"),
    ],
)
@pytest.mark.parametrize("size", [None, 1])
async def test_the_form_of_an_answer_is_detected(http, upstream, content_type, body, expected, size):
    reply = Reply.raw(body, content_type=content_type)
    assert await read_text(http, upstream, reply.slice(size) if size else reply) == (expected, None)


async def test_a_failure_comes_after_the_events_of_the_same_read(http, upstream):
    reply = Reply.raw(b"data: a\n\ndata: fail\n\n", content_type="text/event-stream", x_request_id="req-1")
    text, error = await read_text(http, upstream, reply)
    assert text == "message=a;"
    assert (error.provider, error.provider_request_id) == ("acme", "req-1")


async def test_nothing_is_read_after_the_end_mark(http, upstream):
    reply = Reply.raw(b"data: a\n\ndata: end\n\ndata: fail\n\n", content_type="text/event-stream")
    assert await read_text(http, upstream, reply) == ("message=a;", None)


@pytest.mark.requirement("chat:comments")
async def test_comments_in_a_stream_produce_no_output(http, upstream):
    pieces = [b": still here\n\n"] * 20
    reply = Reply.events([*pieces, b"data: end\n\n"])
    assert await read_text(http, upstream, reply, timeout=10.0) == ("", None)


async def test_an_endless_body_is_refused(http, upstream, monkeypatch):
    monkeypatch.setattr(answer_module, "MAX_BODY_BYTES", 100)
    _, error = await read_text(http, upstream, Reply.raw(b"x" * 101, content_type="application/json"))
    assert isinstance(error, ProtocolError)
    await upstream.wait_for_request()


async def test_a_compressed_answer_is_read_and_a_broken_one_is_a_protocol_error(http, upstream):
    packed = gzip.compress(b"data: a\n\n")
    reply = Reply.raw(packed, content_type="text/event-stream", content_encoding="gzip")
    assert await read_text(http, upstream, reply) == ("message=a;", None)
    assert upstream.requests[0].headers["accept-encoding"] == "identity"
    broken = Reply.raw(b"not gzip", content_type="text/event-stream", content_encoding="gzip")
    assert isinstance((await read_text(http, upstream, broken))[1], ProtocolError)


@pytest.mark.parametrize("value", ["a\nb", "ž", "a\0b"])
async def test_a_header_that_cannot_be_sent_is_a_configuration_error(http, upstream, value):
    _, error = await read_text(http, upstream, Reply.raw(b""), headers={"x-key": value})
    assert isinstance(error, ConfigError)
    assert value not in error.message


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://"])
async def test_an_invalid_url_is_a_configuration_error(http, url):
    with pytest.raises(ConfigError, match="base_url"):
        await get_json(http, HttpCall("GET", url), provider="acme")


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
@pytest.mark.parametrize("text", ["NaN", "\ud83d"])
async def test_a_body_that_json_does_not_support_is_a_request_error(http, upstream, number, text):
    _, error = await read_text(http, upstream, Reply.raw(b""), body={"x": [number], "y": text})
    assert isinstance(error, RequestError)
    assert not upstream.requests


@pytest.mark.parametrize(
    "text", ["NaN", "[-Infinity]", "\ud83d", "\ud83d\ude00 \ud83d", 'ž\u2028\x7f\0"\\', "😀"]
)
async def test_every_text_of_a_body_arrives_unchanged(http, upstream, text):
    body = {"x": text, "y": [1e-7, -0.0, 2**70, None, True], "z": {}}
    await read_text(http, upstream, Reply.json({}), body=body)
    assert upstream.requests[0].json == json.loads(json.dumps(body))


async def test_a_body_may_be_nested_deeply(http, upstream):
    body = nested = {}
    for _ in range(400):
        nested["x"] = nested = {}
    await read_text(http, upstream, Reply.json({}), body=body)
    assert upstream.requests[0].json == body


async def test_an_error_body_that_breaks_off_does_not_hide_the_status(http, upstream):
    reply = Reply.raw(b'{"error": {"message": "No such thing"}}', 404)
    for broken in (reply.reset_after(3), reply.close_after(3)):
        _, error = await read_text(http, upstream, broken)
        assert error.status_code == 404


async def test_something_that_is_not_http_is_a_connection_error(http):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        call = HttpCall("GET", f"http://127.0.0.1:{port}/")
        with pytest.raises(ConnectionError, match=f"127.0.0.1:{port}"):
            await asyncio.wait_for(get_json(http, call, provider="acme"), WAIT_SECONDS)


async def test_invalid_json_is_a_protocol_error(http, upstream):
    upstream.script(Reply.raw(b"<html>"))
    with pytest.raises(ProtocolError, match="not JSON"):
        await get_json(http, HttpCall("GET", upstream.origin), provider="acme")


def test_lines_are_whole_for_any_split():
    data = b'{"a":1}\n\r\n{"b":"\xc5\xbe"}\r\n{"c":3}'
    for size in (1, 2, 3, 100):
        decoder = JsonLinesDecoder()
        lines = [line for i in range(0, len(data), size) for line in decoder.feed(data[i : i + size])]
        assert lines + decoder.finish() == ['{"a":1}', '{"b":"ž"}', '{"c":3}']
    with pytest.raises(ProtocolError):
        JsonLinesDecoder(max_line_bytes=10).feed(b"x" * 11)


@pytest.mark.parametrize("status", [200, 404, 503])
async def test_fetch_returns_an_answer_of_any_status(http, upstream, status):
    upstream.script(Reply.json({"why": "so"}, status, x_thing="7"))
    answer = await fetch(http, HttpCall("GET", upstream.origin), provider="acme")
    assert (answer.status, answer.headers["x-thing"], answer.json()) == (status, "7", {"why": "so"})
    assert "so" not in repr(answer)


async def test_fetch_raises_for_a_redirect(http, upstream):
    upstream.script(Reply.raw(b"", 302, location="https://elsewhere.example/"))
    with pytest.raises(RequestError, match="is not followed"):
        await fetch(http, HttpCall("GET", upstream.origin), provider="acme")


@pytest.mark.requirement("2:waiting-for-room")
async def test_a_request_beyond_the_limit_warns_and_waits_for_another_to_end(http, upstream, monkeypatch):
    monkeypatch.setattr(pools, "MAX_CONNECTIONS", 1)
    gate = Gate()
    upstream.script(Reply.events(["a", gate, "end"]))
    upstream.default(Reply.events(["b", "end"]))

    def ask():
        return stream_events(http, HttpCall("POST", upstream.origin, body={}), EchoDecoder(), provider="acme")

    async with asyncio.timeout(WAIT_SECONDS):
        first, second = ask(), ask()
        assert not isinstance(await anext(first), WarningEvent)
        warning = await anext(second)
        assert (type(warning), warning.code) == (WarningEvent, "waiting_for_room")
        rest = asyncio.ensure_future(anext(second))
        given_up = ask()
        await anext(given_up)
        await given_up.aclose()
        assert len(upstream.requests) == 1
        gate.open()
        async for _ in first:
            pass
        assert not isinstance(await rest, WarningEvent)
        async for _ in second:
            pass
        assert not [event async for event in ask() if isinstance(event, WarningEvent)]


@pytest.mark.requirement("7:timeouts")
async def test_headers_that_arrive_byte_by_byte_do_not_outlast_the_timeout(http):
    sent = 0

    async def serve(reader, writer):
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        gone = asyncio.ensure_future(reader.read(1))
        for byte in b"HTTP/1.1 200 OK\r\nx-slow: " + b"z" * 1000:
            writer.write(bytes([byte]))
            sent += 1
            if (await asyncio.wait({gone}, timeout=0.05))[0]:
                break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        call = HttpCall("GET", f"http://127.0.0.1:{port}/", timeout=0.3)
        sentence = rf"acme \(127.0.0.1:{port}\) did not start an answer within 0.3 s"
        with pytest.raises(ConnectionError, match=sentence):
            await asyncio.wait_for(get_json(http, call, provider="acme"), WAIT_SECONDS)
    assert sent < 100


@pytest.mark.requirement("7:timeouts")
async def test_silence_before_an_answer_is_reported_as_such(http, upstream):
    upstream.script(Reply.json({}, 200).stall_after(0))
    upstream.script(Reply(held=Gate()))
    call = HttpCall("GET", upstream.origin, timeout=0.1)
    for _ in range(2):
        with pytest.raises(ConnectionError, match=r"sent nothing for 0\.1 s"):
            await asyncio.wait_for(get_json(http, call, provider="acme"), WAIT_SECONDS)


@pytest.mark.requirement("7:timeouts")
async def test_silence_is_reported_as_such_if_the_event_loop_was_busy_at_the_timeout(http, upstream):
    upstream.script(Reply(held=Gate()))
    call = HttpCall("GET", upstream.origin, timeout=0.2)
    asking = asyncio.ensure_future(get_json(http, call, provider="acme"))
    await upstream.wait_for_request()
    time.sleep(0.5)  # noqa: ASYNC251 - the event loop must be blocked
    with pytest.raises(ConnectionError, match=r"sent nothing for 0\.2 s"):
        await asyncio.wait_for(asking, WAIT_SECONDS)


async def test_a_body_may_take_longer_than_the_timeout_if_bytes_arrive(http, upstream):
    gates = [Gate() for _ in range(4)]
    pieces = [piece for gate in gates for piece in (b"data: a\n\n", gate)]
    upstream.script(Reply.events([*pieces, b"data: end\n\n"]))
    call = HttpCall("POST", upstream.origin, body={}, timeout=0.4)
    events = stream_events(http, call, EchoDecoder(), provider="acme")
    seen = 0
    async with asyncio.timeout(WAIT_SECONDS):
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                asyncio.get_running_loop().call_later(0.2, gates[seen].open)
                seen += 1
    assert seen == 4


@pytest.mark.parametrize(("status", "is_answer"), [(299, True), (300, False), (399, False)])
async def test_every_status_from_300_is_an_error(http, upstream, status, is_answer):
    upstream.default(Reply.raw(b'"x"', status, "application/json"))
    call = HttpCall("GET", upstream.origin)
    text, error = await read_text(http, upstream, Reply.raw(b"data: a\n\n", status, "text/event-stream"))
    assert (text, error is None) == (("message=a;", True) if is_answer else ("", False))
    for ask in (get_json, fetch):
        if is_answer:
            assert await ask(http, call, provider="acme")
        else:
            with pytest.raises(RequestError, match=f"HTTP {status}"):
                await ask(http, call, provider="acme")


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", "text/plain"])
@pytest.mark.parametrize("before", [b"", b": ping\n\n", b"event: error\n"])
async def test_an_error_body_in_the_form_of_an_event_stream_is_read(http, upstream, content_type, before):
    body = before + b'data: {"error": {"message": "No such thing", "code": "odd"}}\n\ndata: [DONE]\n\n'
    _, error = await read_text(http, upstream, Reply.raw(body, 422, content_type))
    assert error.message == "acme refused the request (HTTP 422): No such thing."
    assert error.provider_code == "odd"


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\n", "message=a;"),
        (b"\n: ping\n\nevent: x\ndata: a\n\n", "x=a;"),
        (b"\xef\xbb\xbfdata: a\n\n", "message=a;"),
        (b"\xef\xbb\xbf{}", "body={};"),
        (b"internal error", "body=internal error;"),
        (b"d", "body=d;"),
        (b"", "body=;"),
    ],
)
async def test_a_stream_labelled_as_json_is_known_by_its_first_bytes(http, upstream, body, expected, size):
    reply = Reply.raw(body, content_type="application/json")
    assert await read_text(http, upstream, reply.slice(size) if size else reply) == (expected, None)
