"""Token counts of an endpoint: the number in its answer, -1 if there is none, or the error of the request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jumpseat.adapters.http.counts import ask_for_count
from jumpseat.chat import AuthenticationError, ServerError
from jumpseat.http import HttpCall, HttpClient
from jumpseat.testing.upstream import FakeUpstream, Reply

pytestmark = pytest.mark.requirement("5:count-tokens")


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


async def count_tokens(upstream: FakeUpstream, http: HttpClient, reply: Reply) -> int:
    upstream.script(reply)
    call = HttpCall("POST", f"{upstream.origin}/count", {}, {"model": "m"})
    return await ask_for_count(http, call, provider="p")


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"input_tokens": 17}, 17),
        ({"object": "response.input_tokens", "input_tokens": 0}, 0),
        ({"input_tokens": -3}, -1),
        ({"input_tokens": "17"}, -1),
        ({"input_tokens": True}, -1),
        ({}, -1),
        ([17], -1),
    ],
)
async def test_only_a_number_is_a_count(
    upstream: FakeUpstream, http: HttpClient, body: Any, tokens: int
) -> None:
    assert await count_tokens(upstream, http, Reply.json(body)) == tokens


@pytest.mark.parametrize(
    "reply",
    [Reply.raw(b"", 404), Reply.raw(b"", 405), Reply.raw(b"", 501), Reply.raw(b"<html>", 200, "text/html")],
)
async def test_an_endpoint_without_a_count_is_not_an_error(
    upstream: FakeUpstream, http: HttpClient, reply: Reply
) -> None:
    assert await count_tokens(upstream, http, reply) == -1


@pytest.mark.parametrize(("status", "error"), [(401, AuthenticationError), (503, ServerError)])
async def test_a_failed_request_is_an_error(
    upstream: FakeUpstream, http: HttpClient, status: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await count_tokens(upstream, http, Reply.raw(b"", status))
