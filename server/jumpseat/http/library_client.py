"""An httpx2 client on our own connections, for a library that exchanges JSON messages with one endpoint.

The proxies, certificates and limits of the configuration apply. A library that validates a large message
would block the event loop, so each message of the endpoint is parsed here and passed to a function, which
may replace it with a small one. A failed request becomes an answer with the status `FAILED`, because a
library may end all of its requests after an exception.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx2

from jumpseat.chat import ChatError, ConfigError, ProtocolError
from jumpseat.http.body import Body
from jumpseat.http.client import HttpClient
from jumpseat.http.event_stream import EventStreamDecoder
from jumpseat.http.exchange import HttpCall, open_response
from jumpseat.http.failures import host_of
from jumpseat.http.network import origin_of
from jumpseat.system.threads import compute
from jumpseat.wire import LONG_JSON_BYTES, read_json, write_json

logger = logging.getLogger(__name__)

FAILED = 502
"""The status of an answer that stands for a failed request."""

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_OTHER_BYTES = 1024 * 1024
"""The size limits of a message of the endpoint, and of any other answer."""

_MARK = "jumpseat-endpoint"
"""A header that distinguishes requests to the endpoint from those of a sign-in. It is not sent."""

_NOT_SENT = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding", _MARK)
"""Headers of the library's requests that are not passed on; our connections set their own."""

_BODY_HEADERS = ("content-length", "content-encoding", "transfer-encoding")
"""Headers of an answer that no longer apply, because the body is already decoded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The endpoint of a library, and the functions that its client calls."""

    url: str
    map_message: Callable[[Any], Any]
    """Maps a parsed message to the message that the library receives instead; None drops an event.

    The function may run in any thread.
    """

    make_failure: Callable[[ChatError], Any]
    """Returns the message that the library receives if the request failed."""

    on_answer: Callable[[str, int], None] = lambda method, status: None
    """Called with the method of each request, and the status of its answer."""


def open_library_client(
    http: HttpClient,
    provider: str,
    endpoint: Endpoint,
    *,
    headers: Mapping[str, str],
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """Return a client for a library. It does not follow redirects.

    Args:
        http: the connections, which the caller closes.
        provider: the id of the table with the network options, for errors.
        endpoint: the endpoint.
        headers: headers for each request to the endpoint.
        auth: signs the requests to the endpoint, and may send requests of its own to other hosts.
    """
    transport = _Transport(http, provider, endpoint)
    # Use the time limits of our own connections.
    return httpx2.AsyncClient(
        transport=transport, headers={**headers, _MARK: "1"}, auth=auth, timeout=None, trust_env=False
    )


def make_answer(request: httpx2.Request, status: int, body: Any) -> httpx2.Response:
    """Return an answer with a JSON body, as if a server had sent it."""
    headers = {"content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=write_json(body), request=request)


class _Transport(httpx2.AsyncBaseTransport):
    def __init__(self, http: HttpClient, provider: str, endpoint: Endpoint) -> None:
        self._http = http
        self._provider = provider
        self._endpoint = endpoint

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        to_endpoint = _MARK in request.headers
        try:
            async with AsyncExitStack() as stack:
                body = await stack.enter_async_context(await self._open(request, to_endpoint=to_endpoint))
                headers = {name: value for name, value in body.headers.items() if name not in _BODY_HEADERS}
                if to_endpoint:
                    self._endpoint.on_answer(request.method, body.status)
                kind = headers.get("content-type", "").partition(";")[0].strip().lower()
                if to_endpoint and kind == "text/event-stream" and body.status < 300:
                    stream = _EventStream(body, self._endpoint, self._provider, stack.pop_all())
                    return httpx2.Response(body.status, headers=headers, stream=stream)
                content = await self._read(body, MAX_MESSAGE_BYTES if to_endpoint else MAX_OTHER_BYTES)
                if to_endpoint and kind == "application/json":
                    content = await _replace_message(content, self._endpoint, self._provider)
                return httpx2.Response(body.status, headers=headers, content=content)
        except ChatError as error:
            logger.info("%s: %s", self._provider, error.message)
            failure = write_json(self._endpoint.make_failure(error))
            return httpx2.Response(FAILED, headers={"content-type": "application/json"}, content=failure)

    async def _open(self, request: httpx2.Request, *, to_endpoint: bool) -> Any:
        url = str(request.url)
        origin = origin_of(url)
        if not to_endpoint and origin.scheme != "https" and not origin.is_loopback:
            raise ConfigError(
                f"{self._provider} refers to {host_of(url)} over plain http, which a sign-in must not use.",
                provider=self._provider,
            )
        content = await request.aread()
        headers = {name: value for name, value in request.headers.items() if name not in _NOT_SENT}
        return open_response(
            self._http, HttpCall(request.method, url, headers, content=content), self._provider
        )

    async def _read(self, body: Body, limit: int) -> bytes:
        content = bytearray()
        async for piece in body.read_pieces():
            content += piece
            if len(content) > limit:
                raise ProtocolError(
                    f"{self._provider} sent an answer of more than {limit // 1024 // 1024} MiB.",
                    provider=self._provider,
                )
        return bytes(content)


async def _replace_message(text: bytes | str, endpoint: Endpoint, provider: str) -> bytes:
    """Return the text of the message that the library receives in place of this one.

    Raises:
        ProtocolError: the text is not JSON, or exceeds a limit.
    """

    def replace() -> bytes:
        return write_json(endpoint.map_message(read_json(text)))

    try:
        return await compute(len(text) > LONG_JSON_BYTES, replace)
    except ValueError as error:
        why = str(error).rstrip(".")
        raise ProtocolError(
            f"{provider} sent a message that cannot be read ({why}).", provider=provider
        ) from None


class _EventStream(httpx2.AsyncByteStream):
    """The event stream of an answer, with each message replaced."""

    def __init__(self, body: Body, endpoint: Endpoint, provider: str, resources: AsyncExitStack) -> None:
        self._body = body
        self._endpoint = endpoint
        self._provider = provider
        self._resources = resources

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = EventStreamDecoder(MAX_MESSAGE_BYTES)
        passed_on: tuple[str, int | None] = ("", None)  # The id and `retry_ms` that the library has.
        try:
            async for piece in self._body.read_pieces():
                for event in await compute(decoder.pending > LONG_JSON_BYTES, decoder.feed, piece):
                    # The first event often has empty data, and an id from which the library continues after a
                    # failure.
                    message = b""
                    if event.data:
                        message = await _replace_message(event.data, self._endpoint, self._provider)
                        if message == b"null":
                            continue
                    yield b"event: %b\nid: %b\ndata: %b\n\n" % (
                        event.event.encode(),
                        event.last_event_id.encode(),
                        message,
                    )
                    passed_on = (event.last_event_id, passed_on[1])
                # The decoder drops an event that has no `data` field, but the event may set the id, or the
                # time after which to connect again.
                if (now := (decoder.last_event_id, decoder.retry_ms)) != passed_on:
                    passed_on = now
                    yield _encode_position(*now)
        except ChatError as error:
            logger.info("%s: an event stream ended: %s", self._provider, error.message)
            # If the library has received an id, it requests the rest of the stream itself.
            if not decoder.last_event_id:
                yield b"data: %b\n\n" % write_json(self._endpoint.make_failure(error))

    async def aclose(self) -> None:
        await self._resources.aclose()


def _encode_position(event_id: str, retry_ms: int | None) -> bytes:
    retry = b"" if retry_ms is None else b"retry: %d\n" % retry_ms
    return b"id: %b\n%b\n" % (event_id.encode(), retry)
