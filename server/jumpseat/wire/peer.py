"""A small JSON-RPC peer, which sends requests and calls handlers for incoming ones.

It is independent of the transport: input arrives through `feed`, and output goes to the `write` callback.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from jumpseat.wire.framing import Malformed, MessageReader, encode_frame
from jumpseat.wire.json import write_json
from jumpseat.wire.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Batch,
    Invalid,
    Message,
    Notification,
    Request,
    RequestId,
    RpcResponse,
    classify,
)

log = logging.getLogger(__name__)


class RpcError(Exception):
    """An error response. Handlers raise it to send it, and `Peer.request` raises it if it is received."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        """
        Args:
            code: the JSON-RPC error code.
            message: one plain sentence.
            data: any JSON value; None for no data.
        """
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class PeerClosed(Exception):  # noqa: N818 - a state, and an error only for waiting callers
    """The connection is gone, so the request will not be answered. The message is the reason."""


# These are the default callbacks of `Peer`.
def _ignore(method: str, params: Any) -> None:
    pass


def _log_malformed(reason: str) -> None:
    # The reader recovers at the next message, so a warning is enough.
    log.warning("The other side sent something that is not a message. %s", reason)


async def _refuse(method: str, params: Any) -> Any:
    raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")


class Peer:
    """One side of a JSON-RPC connection. It belongs to one event loop.

    Each message of an incoming batch is handled and answered separately.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        on_notification: Callable[[str, Any], None] = _ignore,
        on_request: Callable[[str, Any], Awaitable[Any]] = _refuse,
        on_malformed: Callable[[str], None] = _log_malformed,
        cancel_method: str = "$/cancelRequest",
    ) -> None:
        """
        Args:
            write: called with each whole frame; must not block.
            on_notification: called with method and params, in the order of arrival.
            on_request: called with method and params, in a separate task for each request; returns the result
                or raises `RpcError`.
            on_malformed: called with a sentence about input that is not a message; may close the peer.
            cancel_method: the notification with which either side cancels a request, by its `id`.
        """
        self._write = write
        self._on_notification = on_notification
        self._on_request = on_request
        self._on_malformed = on_malformed
        self._cancel_method = cancel_method
        self._reader = MessageReader()
        self._ids = itertools.count(1)
        self._pending: dict[RequestId, asyncio.Future[Any]] = {}
        self._serving: dict[RequestId, asyncio.Task[None]] = {}
        self._closed: str | None = None

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for its result. Cancelling the caller also cancels the request.

        Raises:
            RpcError: the other side answered with an error.
            PeerClosed: the connection was already gone, or was lost while waiting.
        """
        request_id, future = self.start_request(method, params)
        try:
            return await future
        except asyncio.CancelledError:
            self.cancel(request_id)
            raise

    def start_request(self, method: str, params: Any = None) -> tuple[RequestId, asyncio.Future[Any]]:
        """Send a request, and return its id and a future for its result.

        The future raises the same exceptions as `request`. Cancelling the future does not notify the
        other side; `cancel` does.

        Raises:
            PeerClosed: the connection is already gone.
        """
        if self._closed is not None:
            raise PeerClosed(self._closed)
        request_id: RequestId = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method}, params)
        self._pending[request_id] = future
        return request_id, future

    def cancel(self, request_id: RequestId) -> None:
        """Cancel one of our requests, unless it has already been answered."""
        if request_id in self._pending:
            if self._pending[request_id].cancelled():
                del self._pending[request_id]
            self.notify(self._cancel_method, {"id": request_id})

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification.

        Raises:
            PeerClosed: the connection is gone.
        """
        if self._closed is not None:
            raise PeerClosed(self._closed)
        self._send({"jsonrpc": "2.0", "method": method}, params)

    def feed(self, data: bytes) -> None:
        """Handle the next piece of input."""
        for value in self._reader.feed(data):
            if self._closed is not None:
                return
            if isinstance(value, Malformed):
                self._on_malformed(value.reason)
                continue
            message = classify(value)
            for item in message.items if isinstance(message, Batch) else (message,):
                if self._closed is None:
                    self._take(item)

    def close(self, reason: str) -> None:
        """Fail all waiting requests with `PeerClosed(reason)`, and cancel the handlers."""
        if self._closed is not None:
            return
        self._closed = reason
        for future in self._pending.values():
            if not future.done():
                future.set_exception(PeerClosed(reason))
                # Mark the exception as retrieved, so that asyncio does not report it if no caller awaits it.
                future.exception()
        self._pending.clear()
        for task in self._serving.values():
            task.cancel()

    def _send(self, message: dict[str, Any], params: Any) -> None:
        if params is not None:
            message["params"] = params
        self._write(encode_frame(write_json(message)))

    def _take(self, message: Message) -> None:
        match message:
            case RpcResponse():
                self._settle(message)
            case Notification(method=method, params=params) if method == self._cancel_method:
                request_id = params.get("id") if isinstance(params, dict) else None
                if isinstance(request_id, str | int) and (serving := self._serving.get(request_id)):
                    serving.cancel()
            case Notification():
                try:
                    self._on_notification(message.method, message.params)
                except Exception:
                    log.exception("The handler of the notification %s failed.", message.method)
            case Request() if message.id in self._serving:
                self._answer_error(message.id, RpcError(INVALID_REQUEST, "The id is already in use."))
            case Request():
                task = asyncio.get_running_loop().create_task(self._serve(message))
                self._serving[message.id] = task
            case Invalid():
                if message.id is not None:
                    self._answer_error(message.id, RpcError(INVALID_REQUEST, message.reason))
                self._on_malformed(message.reason)

    def _settle(self, response: RpcResponse) -> None:
        future = self._pending.pop(response.id, None) if response.id is not None else None
        if future is None:
            log.debug("A response without a pending request was ignored.")
        elif not future.done():
            if response.error is None:
                future.set_result(response.result)
            else:
                code, message = response.error.get("code"), response.error.get("message")
                future.set_exception(
                    RpcError(
                        code if isinstance(code, int) else INTERNAL_ERROR,
                        message if isinstance(message, str) else "The other side failed without a message.",
                        response.error.get("data"),
                    )
                )
                future.exception()  # This marks the exception as retrieved, as in `close`.

    async def _serve(self, request: Request) -> None:
        try:
            result = await self._on_request(request.method, request.params)
            answer = write_json({"jsonrpc": "2.0", "id": request.id, "result": result})
        except RpcError as error:
            self._answer_error(request.id, error)
        except asyncio.CancelledError:
            self._answer_error(request.id, RpcError(REQUEST_CANCELLED, "The request was cancelled."))
            raise
        except Exception:
            log.exception("The handler of the request %s failed.", request.method)
            self._answer_error(request.id, RpcError(INTERNAL_ERROR, "Internal error."))
        else:
            if self._closed is None:
                self._write(encode_frame(answer))
        finally:
            self._serving.pop(request.id, None)

    def _answer_error(self, request_id: RequestId | None, error: RpcError) -> None:
        if self._closed is None:
            body: dict[str, Any] = {"code": error.code, "message": error.message}
            if error.data is not None:
                body["data"] = error.data
            self._write(encode_frame(write_json({"jsonrpc": "2.0", "id": request_id, "error": body})))
