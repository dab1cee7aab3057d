"""A provider for benchmarks that sends deltas at a fixed rate, each with the time at which it was sent."""

from __future__ import annotations

import asyncio
import json
import re
import time

from jumpseat.testing.answers.chat_completions import completion_stream

STAMP = re.compile(rb"(\d{12,}) ")
"""Matches the time in a delta's text, in nanoseconds of the monotonic clock, which all processes share."""

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class PacedUpstream:
    """The provider. The last message of a chat must be `DELTAS PER_SECOND`."""

    async def start(self) -> str:
        """Listen and return the base URL."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = server
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                body = json.loads(await reader.readexactly(int(length[1]))) if length else {}
                if "messages" not in body:
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                await _answer(writer, *map(int, body["messages"][-1]["content"].split()))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _answer(writer: asyncio.StreamWriter, deltas: int, per_second: int) -> None:
    first, piece, *last = completion_stream(["#"])
    before, after = _event(piece).split(b"#")
    writer.write(_HEAD + _chunk(_event(first)))
    begun = time.monotonic()
    for number in range(deltas):
        await asyncio.sleep(max(0.0, begun + number / per_second - time.monotonic()))
        writer.write(_chunk(b"%b%d %b" % (before, time.monotonic_ns(), after)))
        await writer.drain()
    writer.write(b"".join(_chunk(_event(each)) for each in last) + b"0\r\n\r\n")
    await writer.drain()


def _event(event: object) -> bytes:
    return f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
