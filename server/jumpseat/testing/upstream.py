"""A scripted provider: a real HTTP/1.1 server on loopback.

A script determines the bytes of every answer, how they are divided into writes, when they are sent and how
the connection ends. A test can pause an answer with a `Gate`. The package `answers` builds bodies for the
known dialects. An example:

    async with FakeUpstream() as upstream:
        upstream.script(Reply.events([{"hello": 1}, "[DONE]"]), path="/v1/chat")
        ...  # Send requests to `upstream.origin`.
        assert upstream.requests[0].json["model"] == "m"
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Literal, Self
from urllib.parse import urlsplit

WAIT_SECONDS = 20.0
"""The timeout for events on loopback, which may take seconds on a busy machine."""


class Gate:
    """A place in an answer where the server waits until the test opens it. Any thread may create one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def open(self) -> None:
        """Resume the answer. From another thread, call `ThreadedUpstream.open` instead."""
        self._event.set()

    async def wait(self) -> None:
        """Wait until the gate is open."""
        await self._event.wait()


Piece = bytes | Gate
Event = Mapping[str, Any] | str | bytes | tuple[str, Mapping[str, Any]] | Gate
"""JSON for a `data:` line, a literal data value, raw bytes, a pair of an event name and JSON, or a gate."""

Ending = Literal["complete", "stall", "close", "reset"]


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer.

    The `*_after` methods count bytes of the body before any transfer coding; None stands for the whole body.
    """

    pieces: Sequence[Piece] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False
    slice_size: int | None = None
    """The size of each write in bytes; None for one write for each piece."""

    ending: Ending = "complete"
    ending_after: int | None = None
    """The number of bytes of the body to send before `ending`; None for the whole body."""

    held: Gate | None = None
    """A gate that delays the head of the answer."""

    @classmethod
    def json(cls, body: Any, status: int = 200, **headers: str) -> Reply:
        """Return a reply with a JSON body. Underscores in header names stand for hyphens."""
        return cls.raw(json.dumps(body).encode(), status, "application/json", **headers)

    @classmethod
    def raw(cls, body: bytes, status: int = 200, content_type: str = "text/plain", **headers: str) -> Reply:
        """Return a reply with these bytes as its body, not chunked."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls((body,), status, {"content-type": content_type, **named})

    @classmethod
    def events(cls, events: Sequence[Event], **headers: str) -> Reply:
        """Return a chunked event stream with one write for each event."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        pieces = tuple(event if isinstance(event, Gate) else _event_bytes(event) for event in events)
        return cls(pieces, 200, {"content-type": "text/event-stream", **named}, chunked=True)

    @property
    def body(self) -> bytes:
        """The whole body, without gates."""
        return b"".join(piece for piece in self.pieces if isinstance(piece, bytes))

    def slice(self, size: int) -> Reply:
        """Return the same answer in writes of `size` bytes."""
        return replace(self, slice_size=size)

    def join(self, pieces_per_write: int) -> Reply:
        """Return the same answer with several pieces per write, and gates in the same places."""
        joined: list[Piece] = []
        run: list[bytes] = []
        for piece in self.pieces:
            if isinstance(piece, bytes):
                run.append(piece)
            if len(run) == pieces_per_write or isinstance(piece, Gate):
                joined.append(b"".join(run))
                run = []
            if isinstance(piece, Gate):
                joined.append(piece)
        return replace(self, pieces=(*joined, b"".join(run)))

    def stall_after(self, count: int | None = None) -> Reply:
        """Return a reply that sends `count` bytes of the body, then nothing until either side disconnects."""
        return replace(self, ending="stall", ending_after=count)

    def close_after(self, count: int | None = None) -> Reply:
        """Return a reply that sends `count` bytes of the body, then closes the connection."""
        return replace(self, ending="close", ending_after=count)

    def reset_after(self, count: int | None = None) -> Reply:
        """Return a reply that sends `count` bytes of the body, then resets the connection (RST)."""
        return replace(self, ending="reset", ending_after=count)

    def writes(self) -> Iterator[Piece]:
        """Yield the writes and gates in order, up to the point where `ending` takes effect."""
        left = len(self.body) if self.ending_after is None else self.ending_after
        for piece in self.pieces:
            if isinstance(piece, Gate):
                yield piece
                continue
            kept = piece[:left]
            left -= len(kept)
            step = self.slice_size or len(kept) or 1
            for start in range(0, len(kept), step):
                yield kept[start : start + step]
            if left == 0 and self.ending_after is not None:
                return


def _event_bytes(event: Mapping[str, Any] | str | bytes | tuple[str, Mapping[str, Any]]) -> bytes:
    if isinstance(event, bytes):
        return event
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    if isinstance(event, tuple):
        return f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n".encode()
    return f"data: {json.dumps(event)}\n\n".encode()


@dataclass(slots=True)
class RecordedRequest:
    """A received request. `disconnected` is set if the client disconnects before the answer is complete."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    sent: int = 0
    """The number of bytes of the answer's body written so far."""

    @property
    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.body)


Scripted = Reply | Callable[[RecordedRequest], Reply]

_NOT_SCRIPTED = Reply.json({"error": {"message": "no reply is scripted", "type": "fake"}}, 500)


class FakeUpstream:
    """The scripted server. It answers from the queue for the path, or else from the queue for any path.

    If both queues are empty, it sends the default reply for the path, or else the default reply for any path.
    Without a default reply, it sends an error with the status 500.

    Args:
        port: the port on 127.0.0.1; 0 for a free one.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self.requests: list[RecordedRequest] = []
        self.accepted = 0
        """The number of connections opened to this server so far."""

        self._queues: dict[str | None, deque[Scripted]] = defaultdict(deque)
        self._defaults: dict[str | None, Scripted] = {}
        self._arrived = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        """The scheme, host and port."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def base_url(self) -> str:
        """The `base_url` of an OpenAI-compatible provider."""
        return f"{self.origin}/v1"

    @property
    def open_connections(self) -> int:
        """The number of connections that neither side has closed."""
        return len(self._connections)

    def script(self, *replies: Scripted, path: str | None = None) -> None:
        """Queue replies for one path or for any path."""
        self._queues[path].extend(replies)

    def default(self, reply: Scripted, path: str | None = None) -> None:
        """Set the reply to send while no queued reply applies, for one path or for any path."""
        self._defaults[path] = reply

    def forget(self) -> None:
        """Remove all requests and scripts, for the next test."""
        self.requests.clear()
        self._queues.clear()
        self._defaults.clear()

    async def wait_for_request(self, number: int = 1) -> RecordedRequest:
        """Wait for the request with this number, counted from 1."""
        async with asyncio.timeout(WAIT_SECONDS), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= number)
        return self.requests[number - 1]

    async def wait_until_unconnected(self) -> None:
        """Wait until every connection is closed by either side."""
        if self._connections:
            _, still_open = await asyncio.wait(tuple(self._connections), timeout=WAIT_SECONDS)
            assert not still_open, f"{len(still_open)} connections are still open"

    async def wait_for_disconnect(self, number: int = 1) -> None:
        """Wait until the client of the request with this number abandons the answer by disconnecting."""
        request = await self.wait_for_request(number)
        async with asyncio.timeout(WAIT_SECONDS):
            await request.disconnected.wait()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.accepted += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._converse(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = b""
        while True:
            request = await _read_request(reader, first)
            if request is None:
                return
            async with self._arrived:
                self.requests.append(request)
                self._arrived.notify_all()
            # Read while the answer is written, to detect that the client disconnects.
            watch = asyncio.ensure_future(reader.read(1))
            try:
                if not await _answer(self._reply_to(request), request, watch, writer):
                    return
                first = await watch  # This byte belongs to the next request.
            except ConnectionError:
                request.disconnected.set()
                raise
            finally:
                watch.cancel()
            if not first:
                return

    def _reply_to(self, request: RecordedRequest) -> Reply:
        scripted: Scripted = _NOT_SCRIPTED
        for key in (request.path, None):
            if self._queues[key]:
                scripted = self._queues[key].popleft()
                break
        else:
            scripted = self._defaults.get(request.path) or self._defaults.get(None) or _NOT_SCRIPTED
        return scripted if isinstance(scripted, Reply) else scripted(request)


async def _read_request(reader: asyncio.StreamReader, first: bytes) -> RecordedRequest | None:
    try:
        head = first + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    request_line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = request_line.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return RecordedRequest(method, parts.path, parts.query, headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).partition(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readuntil(b"\r\n")
    return body


async def _answer(
    reply: Reply, request: RecordedRequest, watch: asyncio.Future[bytes], writer: asyncio.StreamWriter
) -> bool:
    """Write the reply. Return whether the connection can serve another request."""
    if reply.held is not None and not await _wait_for_gate(reply.held, watch):
        request.disconnected.set()
        return False
    framing = {"transfer-encoding": "chunked"} if reply.chunked else {"content-length": str(len(reply.body))}
    reason = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else "Odd"
    head = [f"HTTP/1.1 {reply.status} {reason}"]
    head += [f"{name}: {value}" for name, value in {**reply.headers, **framing}.items()]
    writer.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
    for piece in reply.writes():
        if isinstance(piece, Gate):
            await writer.drain()
            if not await _wait_for_gate(piece, watch):
                request.disconnected.set()
                return False
        elif piece:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if reply.chunked else piece)
            await writer.drain()
            request.sent += len(piece)
            # Yield to the loop after each write so that the pieces are sent separately.
            await asyncio.sleep(0)
    match reply.ending:
        case "complete":
            if reply.chunked:
                writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        case "stall":
            await asyncio.wait({watch})
            request.disconnected.set()
        case "reset":
            # With a linger time of 0, closing sends RST instead of FIN.
            connection = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        case "close":
            pass
    return False


async def _wait_for_gate(gate: Gate, watch: asyncio.Future[bytes]) -> bool:
    """Wait for a gate. Return False if the client disconnects first."""
    opened = asyncio.ensure_future(gate.wait())
    either: set[asyncio.Future[Any]] = {opened, watch}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return opened.done()
    finally:
        opened.cancel()
