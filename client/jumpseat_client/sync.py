"""The client for programs without asyncio: the async client on the event loop of a background thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from jumpseat_client.client import Client
from jumpseat_client.requests import REQUEST_TIMEOUT
from jumpseat_client.results import ChatResult, Delta
from jumpseat_client.stream import ChatStream

T = TypeVar("T")

INTERRUPTIBLE_SECONDS = 0.5
"""Ctrl-C ends a wait within this time."""


class SyncClient:
    """A daemon, or a session of the shared one, that runs for as long as the `with` block.

    with SyncClient.spawn() as client:
        for delta in client.chat("Why is the sky blue?"):
            print(delta.text, end="", flush=True)

    Any thread may use it, but not the callbacks of `spawn` and `chat`, which run on the background thread.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended: asyncio.Event | None = None

    @classmethod
    def spawn(cls, command: Sequence[str] | None = None, **options: Any) -> SyncClient:
        """A client that starts its daemon on entry to its `with` block; takes what `Client.spawn` takes."""
        return cls(Client.spawn(command, **options))

    def __enter__(self) -> Self:
        """Start the daemon; raises what `Client.__aenter__` raises."""
        running: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon thread, so that a program that ends without leaving the block does not hang.
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._stay(running),), name="jumpseat-client", daemon=True
        )
        self._thread.start()
        self._loop = running.result()
        try:
            self.run(self._client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.run(self._client.__aexit__(kind, error, traceback))
        finally:
            self._stop()

    @property
    def server_info(self) -> Mapping[str, Any]:
        """The daemon's `serverInfo`."""
        return self._client.server_info

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """`capabilities.experimental.jumpseat` of the answer to `initialize`."""
        return self._client.capabilities

    def chat(self, messages: str | Sequence[Mapping[str, Any]], **options: Any) -> SyncChat:
        """One turn: `for delta in client.chat("Why?")`, or `.response()`; takes what `Client.chat` takes."""
        return SyncChat(self, self._client.chat(messages, **options))

    def models(self, *, provider: str | None = None, refresh: bool = False) -> dict[str, Any]:
        """`{"models": [...], "errors": [...]}`: section 3 of the protocol page."""
        return self.run(self._client.list_models(provider=provider, refresh=refresh))

    def list_conversations(self, **filters: Any) -> dict[str, Any]:
        """A page of the kept conversations; takes what `Client.list_conversations` takes."""
        return self.run(self._client.list_conversations(**filters))

    def get_conversation(self, conversation_id: str) -> dict[str, Any]:
        """A kept conversation, as `Client.get_conversation` returns it."""
        return self.run(self._client.get_conversation(conversation_id))

    def fork_conversation(self, conversation_id: str, *, messages: int | None = None) -> dict[str, Any]:
        """Copy a kept conversation, or its first messages, and return the row of the copy."""
        return self.run(self._client.fork_conversation(conversation_id, messages=messages))

    def rename_conversation(self, conversation_id: str, title: str) -> dict[str, Any]:
        """Give a kept conversation another title and return its row."""
        return self.run(self._client.rename_conversation(conversation_id, title))

    def delete_conversation(self, conversation_id: str) -> bool:
        """Delete a kept conversation; False if there was none."""
        return self.run(self._client.delete_conversation(conversation_id))

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = REQUEST_TIMEOUT
    ) -> Any:
        """Send any request and return its result, as `Client.request` does."""
        return self.run(self._client.request(method, params, timeout=timeout))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the async client on the background thread and return its result."""
        if self._loop is None or threading.current_thread() is self._thread:
            coroutine.close()
            where = "outside its block" if self._loop is None else "in one of its callbacks"
            raise RuntimeError(f"the client is used {where}")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            # A signal that arrives just before a wait does not wake it, and on Windows Ctrl-C never does.
            while not future.done():
                wait([future], timeout=INTERRUPTIBLE_SECONDS)
            return future.result()
        except BaseException:
            future.cancel()  # After Ctrl-C the request is still running; cancelling it also tells the daemon.
            raise

    def call_soon(self, call: Any) -> None:
        """Call this on the background thread; no effect after the block has ended."""
        if self._loop is not None:
            with suppress(RuntimeError):  # The loop was closed in the meantime.
                self._loop.call_soon_threadsafe(call)

    async def _stay(self, running: Future[asyncio.AbstractEventLoop]) -> None:
        self._ended = asyncio.Event()
        running.set_result(asyncio.get_running_loop())
        await self._ended.wait()

    def _stop(self) -> None:
        # `asyncio.run` cancels what still runs and waits for it, the stop of an abandoned daemon included.
        assert self._ended is not None and self._thread is not None  # noqa: PT018, S101 - set on entry
        self.call_soon(self._ended.set)
        self._loop = None
        self._thread.join()


class SyncChat:
    """A chat. Iterate over it for the deltas, or call `response()` for the result alone.

    Leaving the loop early cancels the turn; `response()` then raises `ChatFailed` of kind "cancelled".
    """

    def __init__(self, client: SyncClient, stream: ChatStream) -> None:
        self._client = client
        self._stream = stream

    @property
    def result(self) -> ChatResult | None:
        """The result after a successful end, else None."""
        return self._stream.result

    def __iter__(self) -> Iterator[Delta]:
        deltas = self._client.run(self._deltas())
        try:
            while (delta := self._client.run(anext(deltas, None))) is not None:
                yield delta
        finally:
            self.cancel()

    def response(self) -> ChatResult:
        """Wait for the end and return the result; raises what `ChatStream.response` raises."""
        return self._client.run(self._stream.response())

    def cancel(self) -> None:
        """Cancel the turn; no effect if it has ended or was never started. Any thread may call this."""
        self._client.call_soon(self._stream.cancel)

    async def _deltas(self) -> Any:
        return aiter(self._stream)
