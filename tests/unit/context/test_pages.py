"""Pages and text files are read within bounds, and everything else is an error that says why."""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from typing import Any

import pytest

from jumpseat.chat import ConnectionError, ProtocolError, RateLimitError, RequestError, ServerError
from jumpseat.context import pages
from jumpseat.context.pages import MAX_BYTES, NOTE
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply
from tests.unit.context.reading import read, read_failure

HTML = "text/html; charset=utf-8"
PAGE = "<!doctype html><title>A &amp; B</title><h1>Hello</h1><p>This is <b>it</b>.</p><script>no()</script>"

pytestmark = pytest.mark.requirement("13:fetch")


def page(body: bytes | str, content_type: str = "text/plain", status: int = 200, **headers: str) -> Reply:
    return Reply.raw(body.encode() if isinstance(body, str) else body, status, content_type, **headers)


def redirect(to: str, status: int = 302) -> Reply:
    return page("", status=status, location=to)


async def test_a_page_is_reduced_to_its_text_under_its_title(upstream: FakeUpstream) -> None:
    upstream.script(page(PAGE, HTML))
    block = await read(f" {upstream.origin}/a?b=c#d\n")

    assert (block.text, block.label) == ("# Hello\n\nThis is **it**.", "A & B")
    assert block.uri == f"{upstream.origin}/a?b=c"
    (request,) = upstream.requests
    assert (request.method, request.path, request.query) == ("GET", "/a", "b=c")
    assert request.headers["user-agent"].startswith("jumpseat/")
    assert request.headers.keys() <= {"host", "user-agent", "accept", "accept-encoding"}


async def test_redirects_are_followed_without_cookies_to_the_final_address(upstream: FakeUpstream) -> None:
    first = Reply.raw(b"", 301, "text/plain", location="/two", set_cookie="a=1")
    upstream.script(first, redirect("three?x#y", 307), page("done"))
    block = await read(f"{upstream.origin}/one")

    assert (block.text, block.uri) == ("done", f"{upstream.origin}/three?x")
    assert [(request.path, request.query) for request in upstream.requests] == [
        ("/one", ""),
        ("/two", ""),
        ("/three", "x"),
    ]
    assert all("cookie" not in request.headers for request in upstream.requests)


async def test_endless_redirects_are_an_error(upstream: FakeUpstream) -> None:
    upstream.default(redirect("/again"))
    error = await read_failure(upstream.origin)

    assert type(error) is RequestError
    assert "redirects more than 5 times" in error.message
    assert len(upstream.requests) == 6


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("ftp://example.test/", "not the address of a web page"),
        ("file:///etc/passwd", "not the address of a web page"),
        ("javascript:alert(1)", "not the address of a web page"),
        ("data:text/plain,x", "not the address of a web page"),
        ("http://user:canary@127.0.0.1/", "contains a user or a password"),
        ("//user@127.0.0.1/", "contains a user or a password"),
        ("http://[::1", "redirects to an invalid address"),
    ],
)
async def test_a_redirect_is_checked_like_the_first_address(
    upstream: FakeUpstream, location: str, words: str
) -> None:
    upstream.default(redirect(location))
    error = await read_failure(upstream.origin)

    assert type(error) is RequestError
    assert words in error.message
    assert "canary" not in f"{error.message} {error.hint}"
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    "url",
    [
        "", "x", "/etc/passwd", "file:///etc/passwd", "ftp://a.test/", "http:///x", "https://", "http://a b/",
        "http://[x]/", "http://a.test:99999/", "http://a.test:0/", "http://a.test:x/", "http://u@a.test/",
        "http://u:p@a.test/", "http://[fe80::1%25eth0]/", "http://a\u0000b/", "http://a.test/" + "x" * 9000,
    ],
)  # fmt: skip
async def test_an_address_that_is_not_of_a_web_page_is_refused(url: str) -> None:
    assert type(await read_failure(url)) is RequestError


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (404, RequestError, "answered HTTP 404 (Not Found)."),
        (401, RequestError, "answered HTTP 401 (Unauthorized)."),
        (304, RequestError, "answered HTTP 304 (Not Modified)."),
        (302, RequestError, "answered HTTP 302 (Found)."),
        (599, ServerError, "answered HTTP 599."),
        (503, ServerError, "answered HTTP 503 (Service Unavailable)."),
    ],
)
async def test_a_page_with_an_error_status_is_an_error(
    upstream: FakeUpstream, status: int, kind: type[Exception], words: str
) -> None:
    upstream.script(page("<h1>secret text of the error</h1>", HTML, status))
    error = await read_failure(upstream.origin)

    assert type(error) is kind
    assert error.message.endswith(words)
    assert error.status_code == status
    assert (error.hint is not None) == (status == 401)


async def test_the_error_of_a_host_that_asks_to_wait_says_how_long(upstream: FakeUpstream) -> None:
    upstream.script(page("", status=429, retry_after="7"))
    error = await read_failure(upstream.origin)

    assert isinstance(error, RateLimitError)
    assert error.retry_after == 7


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("<p>source</p>", "text/plain", "<p>source</p>"),
        ('{"a": 1}', "application/json", '{"a": 1}'),
        ("<a/>", "application/atom+xml", "<a/>"),
        (b"\xef\xbb\xbfmark", "text/plain", "mark"),
        ("grün".encode("latin-1"), "text/plain", "grün"),
        ("grün".encode("latin-1"), "text/plain; charset=ISO-8859-1", "grün"),
        ("日本".encode("shift_jis"), 'text/plain; charset="shift_jis"', "日本"),
        ("grün".encode(), "text/plain; charset=punycode", "grün"),
        ("plain", "application/octet-stream", "plain"),
        ("plain", "", "plain"),
        ("a\0b", "text/plain", "a\ufffdb"),
        (PAGE, "", "# Hello\n\nThis is **it**."),
        (f"<!-- x -->\n{PAGE}", "", "# Hello\n\nThis is **it**."),
        ('<meta charset="windows-1252"><p>gr\xfcn'.encode("latin-1"), "text/html", "grün"),
        ("<p>grün".encode("latin-1"), "text/html; charset=iso-8859-1", "grün"),
        ("<p>x", "application/xhtml+xml", "x"),
    ],
)
async def test_a_text_is_decoded_as_its_server_and_its_content_say(
    upstream: FakeUpstream, body: bytes | str, content_type: str, text: str
) -> None:
    upstream.script(page(body, content_type))
    assert (await read(upstream.origin)).text == text


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"%PDF-1.7\n\xff\xfe", "application/pdf", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0", "image/png", "image/png"),
        (b"a\0b", "application/octet-stream", "application/octet-stream"),
        (b"\xff\0\xff", "", "a file of an unknown type"),
    ],
)
async def test_a_file_that_is_not_a_text_is_refused(
    upstream: FakeUpstream, body: bytes, content_type: str, kind: str
) -> None:
    upstream.script(page(body, content_type))
    error = await read_failure(upstream.origin)

    assert type(error) is RequestError
    assert f"is not a text ({kind})" in error.message


@pytest.mark.parametrize(
    ("body", "content_type"), [("", "text/plain"), (" \n", "text/plain"), ("<script>x</script>", HTML)]
)
async def test_a_page_without_text_is_an_error(upstream: FakeUpstream, body: str, content_type: str) -> None:
    upstream.script(page(body, content_type))
    assert isinstance(await read_failure(upstream.origin), ProtocolError)


@pytest.mark.requirement("13:fetch-bounds")
@pytest.mark.parametrize(
    ("piece", "content_type"),
    [
        (b"x" * 65536, "text/plain"),
        ("ä".encode() * 32768, "text/x-log"),
        ("€".encode() * 20_000, "text/plain"),
        (b"<p>" + b"word " * 13_000, HTML),
    ],
)
async def test_an_endless_page_is_cut_and_its_last_line_says_so(
    upstream: FakeUpstream, piece: bytes, content_type: str
) -> None:
    endless = Reply((*[piece] * 100, Gate()), headers={"content-type": content_type}, chunked=True)
    upstream.script(endless)
    block = await read(upstream.origin)

    assert block.text.splitlines()[-1] == NOTE
    assert MAX_BYTES - 100 < len(block.text.encode()) <= MAX_BYTES
    assert set(block.text.partition("\n")[0]) <= {*piece.decode(), " "}
    await upstream.wait_for_disconnect()


@pytest.mark.requirement("13:fetch-bounds")
@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"<p>Text.</p><!--" + b"x" * (3 * MAX_BYTES), HTML, "Text."),
        ("x".encode("utf-16-le") * MAX_BYTES, "text/plain; charset=utf-16le", "x" * (MAX_BYTES // 2 + 2)),
    ],
    ids=["html", "utf-16"],
)
async def test_a_long_page_with_little_text_says_that_it_is_cut(
    upstream: FakeUpstream, body: bytes, content_type: str, text: str
) -> None:
    upstream.script(page(body, content_type))
    assert (await read(upstream.origin)).text == f"{text}\n{NOTE}"


@pytest.mark.requirement("13:fetch-bounds")
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_compression_bomb_is_unpacked_only_up_to_the_limit(
    upstream: FakeUpstream, coding: str
) -> None:
    window_bits = 31 if coding == "gzip" else 15  # zlib's way to select the format
    packer = zlib.compressobj(9, zlib.DEFLATED, window_bits)
    zeros = b"0" * (1024 * 1024)
    packed = b"".join([*(packer.compress(zeros) for _ in range(200)), packer.flush()])
    assert len(packed) < 400_000
    upstream.script(page(packed, content_encoding=coding))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    block = await read(upstream.origin)
    ticking.cancel()
    assert len(block.text) == MAX_BYTES
    assert block.text.endswith(NOTE)
    # The event loop was free meanwhile.
    assert ticks > 3


@pytest.mark.requirement("13:fetch-bounds")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (page(b"x", content_encoding="br"), ProtocolError),
        (page(gzip.compress(b"x" * 1000)[:-20], content_encoding="gzip").close_after(20), ProtocolError),
        (page(b"not gzip", content_encoding="gzip"), ProtocolError),
        (page("x" * 1000).close_after(10), ProtocolError),
        (page("x" * 1000).reset_after(10), ConnectionError),
    ],
    ids=["brotli", "half a gzip", "not gzip", "closed", "reset"],
)
async def test_a_page_that_does_not_arrive_whole_is_an_error(
    upstream: FakeUpstream, reply: Reply, kind: type[Exception]
) -> None:
    upstream.script(reply)
    assert type(await read_failure(upstream.origin)) is kind


@pytest.mark.requirement("13:fetch-bounds")
async def test_a_page_that_arrives_too_slowly_is_given_up(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_SECONDS", 0.5)
    for reply in (
        Reply((), held=Gate()),
        page("x" * 100).stall_after(10),
        Reply((Gate(),), headers={"content-type": "text/plain"}, chunked=True),
    ):
        upstream.script(reply)
        begin = time.monotonic()
        error = await read_failure(upstream.origin)
        assert isinstance(error, ConnectionError)
        assert error.message.endswith("was not read within 0.5 s.")
        assert error.retryable
        assert time.monotonic() - begin < 5


@pytest.mark.requirement("13:fetch-bounds")
async def test_a_page_that_arrives_byte_by_byte_is_given_up(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_SECONDS", 1.0)
    gates = [Gate() for _ in range(400)]

    async def drip() -> None:
        for gate in gates:
            gate.open()
            await asyncio.sleep(0.01)

    pieces: list[Any] = [part for gate in gates for part in (gate, b"x")]
    upstream.script(Reply(tuple(pieces), headers={"content-type": "text/plain"}, chunked=True))
    dripping = asyncio.ensure_future(drip())
    error = await read_failure(upstream.origin)
    dripping.cancel()

    assert isinstance(error, ConnectionError)
    await upstream.wait_for_disconnect()


@pytest.mark.requirement("13:fetch-bounds")
async def test_a_cancelled_request_closes_its_connection(upstream: FakeUpstream) -> None:
    upstream.script(page("x" * 100).stall_after(10))
    reading = asyncio.ensure_future(read(upstream.origin))
    await upstream.wait_for_request()
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    await upstream.wait_for_disconnect()


async def test_an_error_contains_only_the_host_of_the_address(upstream: FakeUpstream) -> None:
    def answer(request: RecordedRequest) -> Reply:
        return page("", status=500 if "-b" in request.path else 404)

    upstream.default(answer)
    for path in ("canary-a?token=canary", "canary-b?token=canary"):
        error = await read_failure(f"{upstream.origin}/{path}")
        assert "canary" not in f"{error.message} {error.hint}"
