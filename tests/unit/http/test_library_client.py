"""The HTTP client for other libraries has our limits, replaces messages, and returns failures as answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from jumpseat.chat import ChatError
from jumpseat.http import HttpClient
from jumpseat.http.library_client import FAILED, MAX_MESSAGE_BYTES, Endpoint, open_library_client
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply

pytestmark = pytest.mark.requirement("12:mcp-http")


@asynccontextmanager
async def open_client(
    upstream: FakeUpstream, statuses: list[tuple[str, int]] | None = None, **more: Any
) -> AsyncIterator[httpx2.AsyncClient]:
    """Open a client whose messages are replaced by their type."""

    def make_failure(error: ChatError) -> Any:
        return {"failure": error.message}

    endpoint = Endpoint(
        url=f"{upstream.origin}/mcp",
        map_message=lambda message: None if message == "drop me" else {"seen": type(message).__name__},
        make_failure=make_failure,
        on_answer=lambda method, status: (statuses if statuses is not None else []).append((method, status)),
    )
    http = HttpClient("mcp:fake")
    async with open_library_client(http, "mcp:fake", endpoint, headers={"x-key": "secret"}, **more) as client:
        yield client
    await http.aclose()


async def read_events(client: httpx2.AsyncClient, url: str) -> list[tuple[str, str, str, int | None]]:
    """Return the event, the data, the id and the retry time of each event."""
    async with client.stream("GET", url) as response:
        events = httpx2.EventSource(response)
        return [(each.event, each.data, each.id, each.retry) async for each in events]


async def test_a_message_is_replaced_and_its_request_has_the_endpoints_headers(
    upstream: FakeUpstream,
) -> None:
    statuses: list[tuple[str, int]] = []
    upstream.script(
        Reply.json([1, 2, 3]), Reply.json({"a": 1}, 404), Reply.raw(b"no JSON", 200, "text/plain")
    )
    async with open_client(upstream, statuses) as client:
        answers = [await client.post(f"{upstream.origin}/mcp", json={"q": "ä"}) for _ in range(3)]

    assert [answer.content for answer in answers] == [b'{"seen":"list"}', b'{"seen":"dict"}', b"no JSON"]
    assert statuses == [("POST", 200), ("POST", 404), ("POST", 200)]
    request = upstream.requests[0]
    assert (request.json, request.headers["x-key"]) == ({"q": "ä"}, "secret")
    assert request.headers["accept-encoding"] == "identity"


async def test_events_are_replaced_and_keep_their_names_and_ids(upstream: FakeUpstream) -> None:
    upstream.script(
        Reply.events(
            [
                b"id: 1\nretry: 50\ndata:\n\n",
                b'id: 2\ndata: {"a":\ndata: 1}\n\n',
                b": comment\n\n",
                b'data: "drop me"\n\n',
                ("tick", {}),
            ]
        )
    )
    async with open_client(upstream) as client:
        events = await read_events(client, f"{upstream.origin}/mcp")

    assert [each for each in events if each[1]] == [
        ("message", '{"seen":"dict"}', "2", None),
        ("tick", '{"seen":"dict"}', "2", None),
    ]
    assert ("message", "", "1", 50) in events


@pytest.mark.parametrize(
    "reply",
    [
        Reply.json([1]).reset_after(0),
        Reply.json([1] * 100).close_after(10),
        Reply.raw(b"{", 200, "application/json"),
        Reply.raw(b'"%b"' % (b"x" * MAX_MESSAGE_BYTES), 200, "application/json"),
        Reply.raw(b"[" + b"1," * 500_000 + b"1]", 200, "application/json"),
        Reply.raw(b"[" * 10_000 + b"]" * 10_000, 200, "application/json"),
    ],
    ids=["reset", "cut", "invalid", "large", "values", "deep"],
)
async def test_a_failed_request_is_returned_as_an_answer(upstream: FakeUpstream, reply: Reply) -> None:
    upstream.script(reply)
    async with open_client(upstream) as client:
        answer = await client.post(f"{upstream.origin}/mcp", json={})

    assert answer.status_code == FAILED
    assert json.loads(answer.content)["failure"].endswith(".")


async def test_a_failed_connection_is_returned_as_an_answer(upstream: FakeUpstream) -> None:
    async with FakeUpstream() as gone:
        url = f"{gone.origin}/mcp"
    async with open_client(upstream) as client:
        answer = await client.get(url)

    assert (answer.status_code, "cannot be reached" in answer.text) == (FAILED, True)


@pytest.mark.parametrize(
    ("events", "failures"),
    [([b'data: {"a": 1}\n\n'], 1), ([b'id: 7\ndata: {"a": 1}\n\n'], 0)],
    ids=["without an id", "with an id"],
)
async def test_a_broken_stream_ends_with_a_failure_unless_it_can_be_resumed(
    upstream: FakeUpstream, events: list[bytes], failures: int
) -> None:
    whole = Reply.events(events)
    upstream.script(Reply.events([*events, b"data: never\n\n"]).reset_after(len(whole.body)))
    async with open_client(upstream) as client:
        read = await read_events(client, f"{upstream.origin}/mcp")

    assert read[0][1] == '{"seen":"dict"}'
    assert sum("failure" in data for _, data, _, _ in read) == failures


async def test_an_event_beyond_the_limit_ends_the_stream(upstream: FakeUpstream) -> None:
    upstream.script(Reply.events([b"data: " + b"x" * (MAX_MESSAGE_BYTES + 1) + b"\n\n", {"a": 1}]))
    async with open_client(upstream) as client:
        events = await read_events(client, f"{upstream.origin}/mcp")

    assert len(events) == 1
    assert "failure" in events[0][1]


async def test_closing_a_stream_closes_its_connection(upstream: FakeUpstream) -> None:
    upstream.script(Reply.events([{"a": 1}, Gate()]))
    async with open_client(upstream) as client, client.stream("GET", f"{upstream.origin}/mcp") as response:
        assert b"seen" in await anext(response.aiter_bytes())
    await upstream.wait_for_disconnect()


class SignIn(httpx2.Auth):
    """Asks another server first, as a sign-in does."""

    requires_response_body = True

    def __init__(self, url: str) -> None:
        self.url = url
        self.answer: httpx2.Response | None = None

    async def async_auth_flow(self, request: httpx2.Request) -> Any:
        self.answer = yield httpx2.Request("POST", self.url, data={"grant": "x"})
        request.headers["authorization"] = "Bearer token"
        yield request


async def test_requests_of_a_sign_in_are_unchanged_and_have_no_headers_of_the_endpoint(
    upstream: FakeUpstream,
) -> None:
    upstream.script(Reply.json({"access_token": "t"}), path="/token")
    upstream.script(Reply.json({}), path="/mcp")
    statuses: list[tuple[str, int]] = []
    auth = SignIn(f"{upstream.origin}/token")
    async with open_client(upstream, statuses, auth=auth) as client:
        await client.post(f"{upstream.origin}/mcp", json={})
    first, second = upstream.requests

    assert auth.answer is not None
    assert auth.answer.json() == {"access_token": "t"}
    assert (first.body, "x-key" in first.headers) == (b"grant=x", False)
    assert second.headers["authorization"] == "Bearer token"
    assert statuses == [("POST", 200)]


@pytest.mark.requirement("12:mcp-environment")
async def test_a_sign_in_does_not_use_plain_http_to_another_machine(upstream: FakeUpstream) -> None:
    auth = SignIn("http://auth.example/token")
    upstream.script(Reply.json({}))
    async with open_client(upstream, auth=auth) as client:
        await client.post(f"{upstream.origin}/mcp", json={})

    assert auth.answer is not None
    assert auth.answer.status_code == FAILED
    assert "plain http" in auth.answer.text
