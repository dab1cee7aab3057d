"""Reads the body of one answer: decompresses it in bounded steps, and closes or reuses its connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from typing import TYPE_CHECKING, cast

from jumpseat.chat import ChatError
from jumpseat.http.failures import connection_failures
from jumpseat.http.packing import make_unpacker

if TYPE_CHECKING:
    import httpcore2

    from jumpseat.http.client import HttpClient
    from jumpseat.http.network_stream import AsyncioStream

DRAIN_SECONDS = 0.5
"""The time limit for reading the rest of an answer after its end mark."""

DRAIN_BYTES = 64 * 1024
"""The size limit for reading that rest. Opening a new connection is cheaper than reading more."""


class Body:
    """A response whose headers have been read, and its unread body."""

    def __init__(
        self, response: httpcore2.Response, provider: str, map_failure: Callable[[Exception], ChatError]
    ) -> None:
        """
        Args:
            response: an open response with an unread body.
            provider: the configured provider's id, for errors.
            map_failure: converts a connection failure to a `ChatError`.
        """
        self.status = response.status
        self.headers: dict[str, str] = {}
        """The headers; names are in lower case."""

        for name, value in response.headers:
            key, text = name.decode("ascii", "replace").lower(), value.decode("utf-8", "replace")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text
        self.connection: AsyncioStream = response.extensions["network_stream"]
        self.connection.deadline = None
        self._provider = provider
        self._map_failure = map_failure
        self.answered = False
        """Whether the dialect's end mark was read and the `done` event yielded. The rest is ignored."""

        self._response = response
        self._raw = cast(AsyncGenerator[bytes], aiter(cast(AsyncIterable[bytes], response.stream)))
        self._ended = False

    @property
    def is_complete(self) -> bool:
        """Whether `read_pieces` has yielded the whole body, not only the part before a lost connection."""
        return self._ended

    async def read_pieces(self) -> AsyncGenerator[bytes]:
        """Yield the content as it arrives, in bounded pieces. A truncated body ends without an error.

        Raises:
            ChatError: the connection failed, or the content cannot be decompressed (`ProtocolError`).
        """
        import httpcore2

        unpacker = make_unpacker(self.headers.get("content-encoding", ""), self._provider)
        try:
            async for raw in self._raw:
                if unpacker is None:
                    yield raw
                    continue
                for number, piece in enumerate(unpacker.decompress(raw)):
                    if number:
                        await asyncio.sleep(0)
                    if piece:
                        yield piece
            self._ended = True
        except httpcore2.RemoteProtocolError:
            # The body is shorter or longer than announced. The decoder determines whether the answer is
            # complete.
            return
        except connection_failures() as failure:
            raise self._map_failure(failure) from failure

    async def release(self, client: HttpClient) -> None:
        """Release the connection.

        After an end mark, the rest of the answer is first read in the background, because the connection
        cannot be reused before that.
        """
        if self.answered and not self._ended:
            client.run_in_background(self._drain())
        else:
            await self._close()

    async def _drain(self) -> None:
        left = DRAIN_BYTES
        self.connection.deadline = asyncio.get_running_loop().time() + DRAIN_SECONDS
        try:
            with contextlib.suppress(*connection_failures()):
                while left > 0:
                    left -= len(await anext(self._raw))
        except StopAsyncIteration:
            pass
        finally:
            await self._close()

    async def _close(self) -> None:
        # Close the generator before the response: otherwise it is left to the garbage collector.
        await self._raw.aclose()
        await self._response.aclose()
