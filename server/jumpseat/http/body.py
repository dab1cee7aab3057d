"""The body of one answer: decompresses it in bounded steps, and closes or keeps its connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from typing import TYPE_CHECKING, cast

from jumpseat.chat import ChatError
from jumpseat.http.failures import connection_failures
from jumpseat.http.packing import unpacker_for

if TYPE_CHECKING:
    import httpcore2

    from jumpseat.http.client import HttpClient

DRAIN_SECONDS = 0.5
"""The time limit for the rest of an answer after its end mark."""

DRAIN_BYTES = 64 * 1024
"""The size limit of that rest. With a longer one, a new connection costs less than reading it."""


class Body:
    """A response whose headers were read, and its body."""

    def __init__(
        self, response: httpcore2.Response, provider: str, error_of: Callable[[Exception], ChatError]
    ) -> None:
        """
        Args:
            response: open, its body not read.
            provider: the configured provider's id, for errors.
            error_of: maps a failure of the connection to our error.
        """
        import httpx2

        self.status = response.status
        self.headers: Mapping[str, str] = httpx2.Headers(response.headers)
        """Looked up by names in any case."""

        self.connection: httpcore2.AsyncNetworkStream = response.extensions["network_stream"]
        self._provider = provider
        self._error_of = error_of
        self.answered = False
        """The end mark of the dialect was read and its event yielded; the rest is ignored."""

        self._response = response
        self._raw = cast(AsyncGenerator[bytes], aiter(cast(AsyncIterable[bytes], response.stream)))
        self._ended = False

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The content as it arrives, in bounded pieces; a body that is cut off ends without an error.

        Raises:
            ChatError: the connection failed, or the content cannot be decompressed (`ProtocolError`).
        """
        import httpcore2

        unpacker = unpacker_for(self.headers.get("content-encoding", ""), self._provider)
        try:
            async for raw in self._raw:
                if unpacker is None:
                    yield raw
                    continue
                for number, piece in enumerate(unpacker.steps(raw)):
                    if number:
                        await asyncio.sleep(0)
                    if piece:
                        yield piece
            self._ended = True
        except httpcore2.RemoteProtocolError:
            # The length differs from the announced one. The decoder knows whether the answer is complete.
            return
        except connection_failures() as failure:
            raise self._error_of(failure) from failure

    async def release(self, client: HttpClient) -> None:
        """Release the connection. After an end mark, the rest of the answer is read in the background first,
        because only then the connection can be used again."""
        if self.answered and not self._ended:
            client.run_aside(self._drained())
        else:
            await self._closed()

    async def _drained(self) -> None:
        left = DRAIN_BYTES
        try:
            with contextlib.suppress(*connection_failures()):
                async with asyncio.timeout(DRAIN_SECONDS):
                    while left > 0:
                        left -= len(await anext(self._raw))
        except StopAsyncIteration:
            pass
        finally:
            await self._closed()

    async def _closed(self) -> None:
        # The generator first: closing the response under it would leave it to the garbage collector.
        await self._raw.aclose()
        await self._response.aclose()
