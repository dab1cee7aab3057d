"""Runs the scripted server on its own thread and event loop, for tests that are not async."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

from jumpseat.testing.upstream import WAIT_SECONDS, FakeUpstream, Gate, RecordedRequest, Scripted

T = TypeVar("T")


class ThreadedUpstream:
    """A context manager that offers the methods of a `FakeUpstream` as blocking methods."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake-upstream", daemon=True)
        self._upstream: FakeUpstream

    def __enter__(self) -> Self:
        self._thread.start()
        self._upstream = self._run(_start())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._upstream.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_SECONDS)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * WAIT_SECONDS)

    @property
    def origin(self) -> str:
        """The scheme, host and port."""
        return self._upstream.origin

    @property
    def base_url(self) -> str:
        """The `base_url` of an OpenAI-compatible provider."""
        return self._upstream.base_url

    @property
    def requests(self) -> list[RecordedRequest]:
        """A copy of the requests received so far."""
        return list(self._upstream.requests)

    def script(self, *replies: Scripted, path: str | None = None) -> None:
        """Queue replies for one path or for any path."""
        self._upstream.script(*replies, path=path)

    def default(self, reply: Scripted, path: str | None = None) -> None:
        """Set the reply to send while no queued reply applies, for one path or for any path."""
        self._upstream.default(reply, path=path)

    def forget(self) -> None:
        """Remove all requests and scripts, for the next test."""
        self._upstream.forget()

    def open(self, gate: Gate) -> None:
        """Open a gate of a running answer."""
        self._loop.call_soon_threadsafe(gate.open)

    def wait_for_request(self, number: int = 1) -> RecordedRequest:
        """Wait for the request with this number, counted from 1."""
        return self._run(self._upstream.wait_for_request(number))

    def wait_for_disconnect(self, number: int = 1) -> None:
        """Wait until the client of the request with this number abandons the answer by disconnecting."""
        self._run(self._upstream.wait_for_disconnect(number))


async def _start() -> FakeUpstream:
    return await FakeUpstream().__aenter__()
