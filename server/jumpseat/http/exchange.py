"""Sends one HTTP request and returns its answer: as events, as JSON or as bytes.

Closing the iterator of events early closes the connection.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from jumpseat.chat import (
    ChatError,
    ConfigError,
    DoneEvent,
    ProtocolError,
    ResponseEvent,
    StreamEvent,
    WarningEvent,
)
from jumpseat.chat.warning import WAITING_FOR_ROOM
from jumpseat.config.table_names import name_key
from jumpseat.dialects.base import Decoder
from jumpseat.dialects.provider_errors import ProviderFault, read_fault
from jumpseat.http.answer import MAX_BODY_BYTES, unwrap_error_body
from jumpseat.http.body import Body
from jumpseat.http.client import HttpClient
from jumpseat.http.decoding import decode_answer
from jumpseat.http.failures import (
    connection_failures,
    error_from_exception,
    error_from_response,
    host_of,
    request_id_of,
)
from jumpseat.http.network import origin_of
from jumpseat.http.pools import MAX_CONNECTIONS
from jumpseat.http.request_body import serialize
from jumpseat.http.request_trace import PROXY_AUTHENTICATION_REQUIRED, ProxyTrace, error_from_proxy
from jumpseat.system.threads import compute
from jumpseat.wire import LONG_JSON_BYTES, read_json

if TYPE_CHECKING:
    import httpcore2

logger = logging.getLogger(__name__)

IDLE_SECONDS = 300.0
"""The default for how long a server may be silent before the request fails.

Reasoning models, and local models with a long prompt, may be silent for minutes.
"""

MAX_ERROR_BODY_BYTES = 64 * 1024

ERROR_BODY_SECONDS = 2.0
"""The time limit for reading an error's body."""

MAX_URLS = 64
"""The maximum number of parsed URLs to cache. Parsing is slow, and a provider's chats all use one URL."""

EVENTS_PER_SLICE = 500
"""The number of events to yield before letting other tasks run."""

Refine: TypeAlias = Callable[[ProviderFault, ChatError], Exception]
"""A function that maps the error of a rejected request to the exception to raise.

It may return the same error, a better one, or a `Replan`.
"""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One request."""

    method: str
    url: str = field(repr=False)
    """The URL, whose query may contain an API key."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Any = field(default=None, repr=False)
    """The JSON value to send; None to send `content` instead."""

    timeout: float | None = None
    """How many seconds the server may be silent before the request fails; None for `IDLE_SECONDS`."""

    content: bytes = field(default=b"", repr=False)
    """The bytes to send if `body` is None; empty for no body."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A complete answer with any status except a redirect. Header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """Parse the body.

        Raises:
            ValueError: the body is not JSON.
        """
        return read_json(self.body)


async def stream_events(
    client: HttpClient,
    call: HttpCall,
    decoder: Decoder,
    *,
    provider: str,
    refine: Refine | None = None,
    on_headers: Callable[[Mapping[str, str]], None] | None = None,
) -> AsyncGenerator[StreamEvent]:
    """Send the request and yield the events of its answer as they arrive.

    The answer may be an event stream, NDJSON or one JSON body, even if the request asked for another format.
    The content type identifies the format; if the type is generic or JSON, the first bytes do. Deltas that
    arrive together, in one read from the connection, are joined.

    Args:
        client: the client, which finds the connections.
        call: the request.
        decoder: a new decoder; bytes after its end mark are not decoded.
        provider: the configured provider's id, for errors.
        refine: may replace the error of an answer whose status is 300 or more.
        on_headers: called with the headers of an answer whose status is below 300; names are in lower case.

    Raises:
        ChatError: the request or the decoder failed; events already yielded stay valid.
    """
    if (await client.find_destination(call.url)).slots.locked():
        message = (
            f"{MAX_CONNECTIONS} requests with the same proxy and TLS options are running; "
            "this request waits until one of them ends."
        )
        yield WarningEvent(WAITING_FOR_ROOM, message)
    async with open_response(client, call, provider) as body:
        request_id = request_id_of(body.headers)
        if body.status >= 300:
            raise await _read_rejection(body, call, provider, refine)
        if on_headers is not None:
            on_headers(body.headers)
        answer = decode_answer(body.read_pieces(), body.headers, decoder, provider)
        async with contextlib.aclosing(answer) as batches:
            async for batch in batches:
                for number, event in enumerate(batch, 1):
                    if number % EVENTS_PER_SLICE == 0:
                        await asyncio.sleep(0)
                    if isinstance(event, ResponseEvent) and event.provider_request_id is None:
                        event.provider_request_id = request_id
                    # Set `answered` before the yield: the consumer may close this generator at `done`, and
                    # `release` then reads `answered`.
                    body.answered = isinstance(event, DoneEvent)
                    yield event


async def get_json(client: HttpClient, call: HttpCall, *, provider: str, refine: Refine | None = None) -> Any:
    """Send the request and return the JSON of its answer.

    Raises:
        ChatError: the request failed, or the answer is not JSON (`ProtocolError`).
    """
    async with open_response(client, call, provider) as body:
        if body.status >= 300:
            raise await _read_rejection(body, call, provider, refine)
        content = await _read_body(body, provider)
    try:
        return await compute(len(content) > LONG_JSON_BYTES, read_json, content)
    except ValueError:
        raise ProtocolError(f"{provider} sent an answer that is not JSON.", provider=provider) from None


async def fetch(client: HttpClient, call: HttpCall, *, provider: str) -> HttpAnswer:
    """Send the request and return its answer, for callers that read an error's body themselves.

    Raises:
        ChatError: the request failed, or was redirected.
    """
    async with open_response(client, call, provider) as body:
        if 300 <= body.status < 400:
            raise await _read_rejection(body, call, provider, None)
        content = await _read_body(body, provider)
        return HttpAnswer(body.status, body.headers, content)


async def fetch_status(
    client: HttpClient, call: HttpCall, *, provider: str
) -> tuple[int, Mapping[str, str], Any]:
    """Send the request; return the answer's status and headers, and its TLS object or None.

    Statuses of 300 and more are not errors here.

    Raises:
        ChatError: the request failed.
    """
    async with open_response(client, call, provider) as body:
        return body.status, body.headers, body.connection.get_extra_info("ssl_object")


async def _read_body(body: Body, provider: str) -> bytes:
    content = bytearray()
    async with contextlib.aclosing(body.read_pieces()) as pieces:
        async for piece in pieces:
            content += piece
            if len(content) > MAX_BODY_BYTES:
                raise ProtocolError(f"{provider} sent an answer of more than 64 MiB.", provider=provider)
    return bytes(content)


@contextlib.asynccontextmanager
async def open_response(client: HttpClient, call: HttpCall, provider: str) -> AsyncIterator[Body]:
    """Send the request and read the headers of the response; release its connection on exit.

    Raises:
        ChatError: the request failed.
    """
    destination = await client.find_destination(call.url)
    connections, proxy = destination.pool.value.connections, destination.network.proxy
    assert connections is not None  # noqa: S101 - `find_destination` has opened the pool
    idle = IDLE_SECONDS if call.timeout is None else call.timeout
    map_failure = partial(error_from_exception, provider=provider, url=call.url, idle_seconds=idle)
    content = call.content if call.body is None else await serialize(call.body, provider)
    async with destination.slots:
        proxy_trace: ProxyTrace | None = None
        timeouts = {"connect": client.connect_seconds, "read": idle, "write": idle, "pool": None}
        extensions: dict[str, Any] = {"timeout": timeouts}
        # Map only failures that precede the headers: `Body` maps those that occur while its content is read.
        try:
            async with asyncio.timeout(None) as limit:
                if proxy is not None:
                    proxy_trace = ProxyTrace(proxy, origin_of(call.url), limit, client.connect_seconds)
                    proxy_trace.check(provider, [*call.headers, *_names_in_url(call.url)])
                    extensions["trace"] = proxy_trace
                request = _make_request(call, content, extensions, provider)
                response = await connections.handle_async_request(request)
        except connection_failures() as failure:
            raise map_failure(failure, proxy_trace=proxy_trace) from failure
        body = Body(response, provider, map_failure)
        try:
            if proxy_trace is not None and body.status == PROXY_AUTHENTICATION_REQUIRED:
                raise error_from_proxy(
                    proxy_trace.proxy, body.status, provider=provider, host=host_of(call.url)
                )
            yield body
        finally:
            await body.release(client)


def _make_request(
    call: HttpCall, content: bytes, extensions: dict[str, Any], provider: str
) -> httpcore2.Request:
    # Do not use httpx2's client: it adds redirects, cookies and layers of streams to every request.
    import httpcore2

    target = _parse_url(call.url)
    # Do not ask for compression: a compressing gateway would delay deltas until its buffer is full.
    headers = {
        "host": target.host,
        "accept-encoding": "identity",
        "accept": "text/event-stream, application/json",
        **({} if call.body is None else {"content-type": "application/json"}),
        **{name.lower(): value for name, value in call.headers.items()},
    }
    if "proxy-authorization" in headers:
        raise ConfigError(
            f"{name_key(provider, 'headers')} has a header for a proxy, which would be sent to the provider.",
            provider=provider,
            hint=f"Set {name_key(provider, 'proxy')} to the proxy, with its user and password.",
        )
    if target.authorization is not None:
        headers["authorization"] = target.authorization
    if content or call.method != "GET":
        headers["content-length"] = str(len(content))
    return httpcore2.Request(
        call.method,
        target.url,
        headers=[(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()],
        content=content,
        extensions=extensions,
    )


class _Target(NamedTuple):
    """The parts of a URL that a request needs."""

    url: httpcore2.URL
    host: str
    authorization: str | None


@lru_cache(maxsize=MAX_URLS)
def _parse_url(url: str) -> _Target:
    import httpcore2
    import httpx2

    parts = httpx2.URL(url)
    if not parts.host:
        raise httpx2.InvalidURL("The URL has no host.")
    authorization = None
    if parts.userinfo:
        user = f"{parts.username}:{parts.password}"
        authorization = f"Basic {base64.b64encode(user.encode()).decode('ascii')}"
    target = httpcore2.URL(
        scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path
    )
    return _Target(target, parts.netloc.decode("ascii"), authorization)


def _names_in_url(url: str) -> list[str]:
    """Return the names of the query parameters, and `authorization` if the URL contains a user."""
    parts = urlsplit(url)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return [*names, "authorization"] if "@" in parts.netloc else names


async def _read_rejection(body: Body, call: HttpCall, provider: str, refine: Refine | None) -> Exception:
    content = b""
    # A body that fails or stalls must not hide the status or delay it.
    with contextlib.suppress(TimeoutError, ChatError):
        async with asyncio.timeout(ERROR_BODY_SECONDS), contextlib.aclosing(body.read_pieces()) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) > MAX_ERROR_BODY_BYTES:
                    break
    content = unwrap_error_body(content)
    error = error_from_response(body.status, body.headers, content, provider=provider, url=call.url)
    return error if refine is None else refine(read_fault(content), error)
