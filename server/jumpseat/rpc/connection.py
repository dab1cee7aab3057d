"""One connection: checks each message from the client, dispatches it, and sends the answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jumpseat.rpc.batch import BatchResponse
from jumpseat.rpc.dispatcher import Dispatcher
from jumpseat.rpc.faults import RpcFault, wire_error
from jumpseat.rpc.method import HandlerOutcome, Method, MethodCall
from jumpseat.rpc.methods import METHODS
from jumpseat.rpc.outbox import FrameWriter, Outbox
from jumpseat.rpc.session import InFlight, Session
from jumpseat.system.environment import Environment
from jumpseat.wire import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SERVER_NOT_INITIALIZED,
    Batch,
    Invalid,
    Malformed,
    MessageReader,
    Notification,
    Request,
    RequestId,
    RpcResponse,
    classify,
)

logger = logging.getLogger(__name__)


class ClientConnection:
    """The daemon's end of one client."""

    def __init__(
        self,
        writer: FrameWriter,
        *,
        environment: Environment,
        config_file: Path | None,
        stop: Callable[[], None],
        watch_parent: Callable[[int], None],
        methods: Mapping[str, Method] = METHODS,
    ) -> None:
        """
        Args:
            writer: takes the frames.
            environment: the client's.
            config_file: the configuration file named on the command line.
            stop: called when the client sends `exit`.
            watch_parent: called with the id of the process whose end ends the connection.
            methods: the method table.
        """
        self._reader = MessageReader()
        self._outbox = Outbox(writer)
        self._methods = methods
        self.session = Session(
            outbox=self._outbox,
            environment=environment,
            config_file=config_file,
            stop=stop,
            cancel=self._cancel,
            watch_parent=watch_parent,
            method_names=[name for name, method in methods.items() if not method.lifecycle],
        )
        self._dispatcher = Dispatcher(self.session, methods.values(), self._answer)

    def receive(self, data: bytes) -> None:
        """Handle the next bytes from the client; never waits."""
        for value in self._reader.feed(data):
            if isinstance(value, Malformed):
                logger.warning("a malformed frame: %s", value.reason)
                self._refuse(None, RpcFault(PARSE_ERROR, value.reason), None)
            else:
                self._take(value)

    def _cancel(self, request_id: RequestId) -> bool:
        return self._dispatcher.cancel(request_id)

    def _take(self, value: Any) -> None:
        message = classify(value)
        if isinstance(message, Batch):
            batch = BatchResponse(self._outbox)
            for item in message.items:
                self._take_one(item, batch)
            batch.close()
        else:
            self._take_one(message, None)

    def _take_one(
        self, message: Request | Notification | RpcResponse | Invalid, batch: BatchResponse | None
    ) -> None:
        match message:
            case Request():
                if batch is not None:
                    batch.expect()
                try:
                    self._request(message, batch)
                except Exception as error:
                    self._refuse(message.id, error, batch)
            case Notification():
                self._notification(message)
            case Invalid():
                if batch is not None:
                    batch.expect()
                self._refuse(message.id, RpcFault(INVALID_REQUEST, message.reason), batch)
            case RpcResponse():
                if not self.session.client_requests.settle(message):
                    logger.warning("a response to an unknown request, with the id %r", message.id)

    def _request(self, message: Request, batch: BatchResponse | None) -> None:
        session = self.session
        if session.shutting_down:
            raise RpcFault(INVALID_REQUEST, "The daemon is shutting down; it accepts only exit.")
        if not session.initialized and message.method != "initialize":
            raise RpcFault(SERVER_NOT_INITIALIZED, "The first request must be initialize.")
        method = self._methods.get(message.method)
        if method is None or method.kind != "request":
            raise RpcFault(METHOD_NOT_FOUND, f"There is no method named {message.method[:100]!r}.")
        params = method.params.model_validate(message.params)
        entry = session.admit(message.id, message.method, batch)
        session.line_up(entry, changes=method.changes)
        call = MethodCall(params, message.id, entry)
        try:
            if method.admit is not None:
                method.admit(session, call)
        except Exception:
            session.release(message.id)
            raise
        self._dispatcher.request(message.id, message.method, call)

    def _notification(self, message: Notification) -> None:
        method = self._methods.get(message.method)
        if method is None or method.kind != "notification":
            logger.debug("an unknown notification: %.100r", message.method)
            return
        if not self.session.initialized and message.method != "exit":
            return
        try:
            params = method.params.model_validate(message.params)
        except ValueError as error:
            logger.warning("the notification %s is ignored: %s", message.method, wire_error(error).message)
            return
        entry = InFlight(message.method)
        self.session.line_up(entry, changes=method.changes)
        self._dispatcher.notification(message.method, MethodCall(params, entry=entry))

    def _answer(self, request_id: RequestId, outcome: HandlerOutcome) -> None:
        entry = self.session.release(request_id)
        if entry is None:
            return  # Already answered.
        logger.debug("%s %r: %s", entry.method, request_id, _summary(outcome))
        if outcome.error is not None:
            self._respond(request_id, "error", outcome.error.as_dict(), entry.batch)
            return
        try:
            self._respond(request_id, "result", outcome.result, entry.batch)
        # JSON has no form for the result: a defect of the handler. The client still needs a response.
        except ValueError as error:
            self._refuse(request_id, error, entry.batch)

    def _refuse(self, request_id: RequestId | None, error: Exception, batch: BatchResponse | None) -> None:
        self._respond(request_id, "error", wire_error(error).as_dict(), batch)

    def _respond(
        self, request_id: RequestId | None, member: str, value: Any, batch: BatchResponse | None
    ) -> None:
        response = {"jsonrpc": "2.0", "id": request_id, member: value}
        if batch is not None:
            batch.add(response)
        else:
            self._outbox.send(response)


def _summary(outcome: HandlerOutcome) -> str:
    # Without contents: they may be private.
    return "answered" if outcome.error is None else f"error {outcome.error.code}"
