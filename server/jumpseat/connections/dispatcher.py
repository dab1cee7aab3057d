"""Runs the handlers of one connection, with pygls's feature table, futures and cancellation.

pygls receives only validated messages, so its code for bytes, params, errors and the lifecycle never runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import cattrs
from pygls.protocol import JsonRPCProtocol
from pygls.protocol.json_rpc import JsonRPCRequestMessage, JsonRPCResponseMessage
from pygls.server import JsonRPCServer

from jumpseat.connections.faults import CANCELLED
from jumpseat.connections.method import HandlerOutcome, Method, MethodCall
from jumpseat.connections.session import Session
from jumpseat.wire import RequestId

Answer = Callable[[RequestId, HandlerOutcome], None]


class _Protocol(JsonRPCProtocol):
    """Passes the responses of pygls to `answer`."""

    answer: Answer

    # This method is private in pygls, so pyproject.toml pins the version of pygls.
    def _send_data(self, data: Any) -> None:
        """Pass a handler's outcome to `answer`. pygls calls this with every response."""
        # Handlers never raise. So a response without an outcome is pygls's error for a request that was
        # cancelled before its handler ran.
        if isinstance(data, JsonRPCResponseMessage) and isinstance(data.result, HandlerOutcome):
            self.answer(data.id, data.result)
        else:
            self.answer(data.id, HandlerOutcome(error=CANCELLED))


class Dispatcher:
    """Runs the handlers of one connection."""

    def __init__(self, session: Session, methods: Iterable[Method], answer: Answer) -> None:
        """
        Args:
            session: passed to every handler.
            methods: the method table.
            answer: called exactly once for each dispatched request.
        """
        self._session = session
        server = JsonRPCServer(_Protocol, cattrs.Converter)
        self._protocol = server.protocol
        assert isinstance(self._protocol, _Protocol)  # noqa: S101 - narrows pygls's declared type
        self._protocol.answer = answer
        self._notification_handlers: dict[str, Callable[[MethodCall[Any]], Any]] = {}
        for method in methods:
            if method.kind == "request":
                server.feature(method.name)(_wrap_handler(method, session))
            else:
                self._notification_handlers[method.name] = _wrap_handler(method, session)

    def run_request(self, request_id: RequestId, method: str, call: MethodCall[Any]) -> None:
        """Run a request's handler: a plain function immediately, a coroutine function as a task."""
        self._protocol.handle_message(JsonRPCRequestMessage(request_id, method, "2.0", call))

    def run_notification(self, method: str, call: MethodCall[Any]) -> None:
        """Run a notification's handler: a plain function immediately, a coroutine function as a task."""
        # Bypass pygls, which would handle cancel notifications itself.
        handler = self._notification_handlers[method]
        if not inspect.iscoroutinefunction(handler):
            handler(call)
            return

        async def run() -> None:
            try:
                await handler(call)
            finally:
                call.entry.finished.set()

        self._session.run_in_background(method, run)

    def cancel(self, request_id: RequestId) -> bool:
        """Cancel a request. Return False if it is unknown, finished or already cancelled."""
        # `_request_futures` and the method below are private in pygls, like `_send_data`.
        future = self._protocol._request_futures.get(request_id)
        if future is None or future.done():
            return False
        self._protocol._handle_cancel_notification(request_id)
        return True


def _wrap_handler(method: Method, session: Session) -> Callable[[MethodCall[Any]], Any]:
    """Wrap a handler so that it never raises: pygls would send the exception's text to the client.

    The wrapper of a coroutine function also waits for earlier messages and for a slot.
    """
    handler = method.handler
    # `shutdown` cancels the requests that wait, so it must not wait itself.
    in_order = method.changes or not method.lifecycle

    if inspect.iscoroutinefunction(handler):

        def reserve_slot(call: MethodCall[Any]) -> contextlib.AbstractAsyncContextManager[None]:
            # A thousand concurrent requests would delay all clients of the daemon.
            if method.lifecycle:
                return contextlib.nullcontext()
            # A method with `admit` usually runs a turn. A turn occupies a slot only while it begins, because
            # its provider may take a long time to answer.
            return session.slots if method.admit is None else session.begin_turn(call.entry)

        async def run(call: MethodCall[Any]) -> HandlerOutcome:
            try:
                if in_order:
                    await session.wait_for_earlier_messages(call.entry)
                async with reserve_slot(call):
                    return _to_outcome(await handler(session, call))
            except asyncio.CancelledError:
                return HandlerOutcome(error=CANCELLED)
            except Exception as error:
                return HandlerOutcome(error=session.encode_error(error))

        return run

    def run_immediately(call: MethodCall[Any]) -> HandlerOutcome:
        try:
            return _to_outcome(handler(session, call))
        except Exception as error:
            return HandlerOutcome(error=session.encode_error(error))

    return run_immediately


def _to_outcome(result: Any) -> HandlerOutcome:
    return result if isinstance(result, HandlerOutcome) else HandlerOutcome(result)
