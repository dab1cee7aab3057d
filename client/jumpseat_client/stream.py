"""A running chat: its deltas, its result and its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jumpseat.wire import PeerClosed, RequestId, RpcError
from jumpseat_client.errors import ChatFailed, ClientError, RequestTimeout
from jumpseat_client.results import ChatResult, Delta

if TYPE_CHECKING:
    from jumpseat_client.approvals import ApprovalTasks


class ChatStream:
    """A chat. Iterate over the stream for the deltas, or await `response()` for the result alone.

    Whichever you do first sends the request. The turn is cancelled if the loop is left early (by `break`, by
    an exception or because the task is cancelled). It is cancelled too if the chat takes longer than the
    `timeout`; the loop or `response()` then raises `RequestTimeout`. If you call `response()` after a turn
    was cancelled, it raises `ChatFailed` of kind "cancelled" with the result so far in `partial`.
    """

    def __init__(
        self,
        start: Callable[[ChatStream], tuple[RequestId, asyncio.Future[Any]]],
        cancel: Callable[[RequestId], None],
        to_client_error: Callable[[PeerClosed], ClientError],
        timeout: float | None,
        approvals: ApprovalTasks | None = None,
    ) -> None:
        self._start = start
        self._cancel = cancel
        self._to_client_error = to_client_error
        self._timeout = timeout
        self._approvals = approvals
        self._id: RequestId | None = None
        self._future: asyncio.Future[Any] | None = None
        self._queue: asyncio.Queue[Delta | None] | None = None
        self._result: ChatResult | None = None
        self._cancelled = False
        self._deadline: float | None = None

    @property
    def request_id(self) -> RequestId | None:
        """The request's id; None until the request is sent."""
        return self._id

    @property
    def result(self) -> ChatResult | None:
        """The result, once the loop or `response()` has received it; None before that, and after an error."""
        return self._result

    def __aiter__(self) -> _Deltas:
        if self._future is not None:
            raise RuntimeError("a chat can be iterated over once, and not after response()")
        self._queue = queue = asyncio.Queue[Delta | None]()
        self._begin().add_done_callback(lambda _: queue.put_nowait(None))
        return _Deltas(self, queue)

    async def response(self) -> ChatResult:
        """Wait for the chat to end and return the result.

        Raises:
            ChatFailed: the chat ended with an error.
            RequestTimeout: the chat did not end in time, so it was cancelled.
            DaemonDied: the daemon has ended.
        """
        future = self._future or self._begin()
        try:
            async with asyncio.timeout_at(self._deadline):
                # Without the shield, the timeout would cancel the future, so a later call of `response` could
                # not report the partial result.
                value = await asyncio.shield(future)
        except asyncio.CancelledError:
            self.cancel()
            raise
        except TimeoutError:
            raise self._expire() from None
        except RpcError as error:
            raise ChatFailed(error.code, error.message, error.data) from None
        except PeerClosed as error:
            raise self._to_client_error(error) from None
        if self._result is None:
            self._result = ChatResult(value if isinstance(value, dict) else {})
        return self._result

    def cancel(self) -> None:
        """Cancel the turn; does nothing if the chat has ended or was never started."""
        if self._id is None or self._future is None or self._future.done() or self._cancelled:
            return
        self._cancelled = True
        with suppress(PeerClosed):
            self._cancel(self._id)

    def deliver(self, delta: Delta) -> None:
        """Queue a delta for the iterator. Without an iterator, only start the approval callback if needed.

        If a `tool_approval` is queued, its approval callback starts when the iterator reaches it. A
        `tool_status` is queued too, but withdraws the question about its call immediately.
        """
        if self._approvals is not None and (status := delta.tool_status) is not None:
            self._approvals.withdraw(status.tool_use_id)
        if self._queue is not None:
            self._queue.put_nowait(delta)
        else:
            self._ask(delta)

    def _ask(self, delta: Delta) -> None:
        """Start the approval callback if the delta asks for an approval.

        Call this only after the user of the stream has received all earlier deltas.
        """
        if self._approvals is not None and (approval := delta.tool_approval) is not None:
            self._approvals.ask(approval)

    def _begin(self) -> asyncio.Future[Any]:
        self._id, self._future = self._start(self)
        if (approvals := self._approvals) is not None:
            self._future.add_done_callback(lambda _: approvals.withdraw_all())
        if self._timeout is not None:
            self._deadline = asyncio.get_running_loop().time() + self._timeout
        return self._future

    def _expire(self) -> RequestTimeout:
        """Cancel the turn, and return the error to raise."""
        self.cancel()
        # A later response() must be able to wait for the partial result of the cancelled turn.
        self._deadline = None
        return RequestTimeout(f"The chat did not end within {self._timeout:g} seconds.")


class _Deltas:
    """The iterator that `async for` uses."""

    # This is not a generator, because the `finally` of a generator would run later, in another task. Only the
    # `async for` statement refers to this object, so its `__del__` runs as soon as the statement is left.

    def __init__(self, stream: ChatStream, queue: asyncio.Queue[Delta | None]) -> None:
        self._stream = stream
        self._queue = queue
        self._loop = asyncio.get_running_loop()

    def __aiter__(self) -> _Deltas:
        return self

    async def __anext__(self) -> Delta:
        stream = self._stream
        try:
            async with asyncio.timeout_at(stream._deadline):
                delta = await self._queue.get()
        except asyncio.CancelledError:
            stream.cancel()
            raise
        except TimeoutError:
            raise stream._expire() from None
        if delta is not None:
            stream._ask(delta)
            return delta
        self._queue.put_nowait(None)  # Otherwise another call of `__anext__` would wait forever.
        await stream.response()
        raise StopAsyncIteration

    def __del__(self) -> None:
        try:
            in_loop = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            in_loop = False
        # The `async for` loop was left. Cancel the turn, which costs money even if nobody reads its deltas.
        if in_loop:
            self._stream.cancel()
        else:
            # The iterator was deleted in another thread, or while its event loop was not running. If that
            # loop is closed, the daemon has ended too.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stream.cancel)
