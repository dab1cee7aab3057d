"""One connection: checks each message from the client, dispatches it and sends the response."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from jumpseat.connections.batch import BatchResponse
from jumpseat.connections.contract import Contract
from jumpseat.connections.dispatcher import Dispatcher
from jumpseat.connections.faults import RpcFault, WireError, to_wire_error
from jumpseat.connections.method import HandlerOutcome, MethodCall
from jumpseat.connections.outbox import FrameWriter, Outbox
from jumpseat.connections.param_model import Params
from jumpseat.connections.session import InFlight
from jumpseat.system.environment import Environment
from jumpseat.system.threads import compute
from jumpseat.wire import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Batch,
    Invalid,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    RpcResponse,
    classify,
)

logger = logging.getLogger(__name__)


_Validated: TypeAlias = tuple[Message, Params | WireError | None]
"""A message, and its validated params or the error in them (None if there was nothing to validate)."""

_Frame: TypeAlias = Malformed | _Validated | list[_Validated]
"""One frame; a list is a batch."""


class Channel(FrameWriter, Protocol):
    """The transport of a connection."""

    def pause_input(self) -> None:
        """Stop reading until `resume_input`. Data that was already read may still be passed on."""

    def resume_input(self) -> None:
        """Resume reading."""


class ClientConnection:
    """The daemon's end of the connection to one client."""

    def __init__(
        self,
        channel: Channel,
        contract: Contract,
        *,
        environment: Environment,
        config_file: Path | None,
        stop: Callable[[], None],
        watch_parent: Callable[[int], None],
    ) -> None:
        """
        Args:
            channel: the transport for frames and input.
            contract: the protocol that the client speaks.
            environment: the client's environment.
            config_file: the configuration file named on the command line.
            stop: called when the client sends `exit`.
            watch_parent: called with the id of a process; the connection must end when that process does.
        """
        self._channel = channel
        self._contract = contract
        self._reader = contract.new_reader()
        self._long_message: asyncio.Task[None] | None = None
        self._unread: list[bytes] = []
        self._outbox = Outbox(channel, contract.frame)
        self._methods = methods = contract.methods
        self.session = contract.new_session(
            outbox=self._outbox,
            environment=environment,
            config_file=config_file,
            stop=stop,
            cancel=self._cancel,
            watch_parent=watch_parent,
            method_names=[name for name, method in methods.items() if not method.lifecycle],
        )
        self._dispatcher = Dispatcher(self.session, methods.values(), self._send_outcome)

    def receive(self, data: bytes) -> None:
        """Handle the next bytes from the client without blocking. A worker thread parses long messages."""
        if self._long_message is not None:
            # Queue it behind the long message so that messages take effect in order.
            self._unread.append(data)
        elif self._reader.is_long(len(data)):
            self._channel.pause_input()
            self._long_message = asyncio.create_task(self._handle_long(data))
        else:
            self._handle_frames(self._parse(data))

    async def close(self) -> None:
        """Stop handling messages."""
        if self._long_message is not None:
            self._long_message.cancel()
            await asyncio.wait([self._long_message])

    async def _handle_long(self, data: bytes) -> None:
        """Parse a long message in a worker thread, then handle the data that arrived meanwhile, in order."""
        try:
            self._handle_frames(await compute(True, self._parse, data))
        except Exception:
            logger.exception("a long message could not be parsed")
        self._long_message = None
        unread, self._unread = self._unread, []
        for piece in unread:
            self.receive(piece)
        if self._long_message is None:
            self._channel.resume_input()

    def _parse(self, data: bytes) -> list[_Frame]:
        """Parse and check the messages that the next bytes complete. Any thread may call this."""
        frames: list[_Frame] = []
        for value in self._reader.feed(data):
            if isinstance(value, Malformed):
                frames.append(value)
                continue
            message = classify(value)
            if isinstance(message, Batch):
                frames.append([self._validate(each) for each in message.items])
            else:
                frames.append(self._validate(message))
        return frames

    def _validate(self, message: Message) -> _Validated:
        if not isinstance(message, Request | Notification) or message.method not in self._methods:
            return message, None
        # Drop the raw params in this thread, because freeing the params of a long message is slow.
        bare = replace(message, params=None)
        try:
            return bare, self._methods[message.method].params.model_validate(message.params)
        except Exception as error:
            return bare, to_wire_error(error)

    def _cancel(self, request_id: RequestId) -> bool:
        return self._dispatcher.cancel(request_id)

    def _handle_frames(self, frames: Sequence[_Frame]) -> None:
        for each in frames:
            if isinstance(each, Malformed):
                logger.warning("a malformed frame: %s", each.reason)
                self._respond_with_error(None, RpcFault(PARSE_ERROR, each.reason), None)
            elif isinstance(each, list):
                batch = BatchResponse(self._outbox)
                for message, params in each:
                    self._handle_message(message, params, batch)
                batch.close()
            else:
                self._handle_message(*each, None)

    def _handle_message(
        self, message: Message, params: Params | WireError | None, batch: BatchResponse | None
    ) -> None:
        match message:
            case Request():
                if batch is not None:
                    batch.expect()
                try:
                    self._handle_request(message, params, batch)
                except Exception as error:
                    self._respond_with_error(message.id, error, batch)
            case Notification():
                self._handle_notification(message, params)
            case Invalid():
                if batch is not None:
                    batch.expect()
                self._respond_with_error(message.id, RpcFault(INVALID_REQUEST, message.reason), batch)
            case RpcResponse():
                if not self.session.client_requests.resolve(message):
                    logger.warning("a response to an unknown request, with the id %r", message.id)

    def _handle_request(
        self, message: Request, params: Params | WireError | None, batch: BatchResponse | None
    ) -> None:
        session = self.session
        if session.shutting_down:
            raise RpcFault(INVALID_REQUEST, "The daemon is shutting down; it accepts only exit.")
        first = self._contract.first_method
        if not session.initialized and message.method != first:
            raise RpcFault(self._contract.uninitialized_code, f"The first request must be {first}.")
        method = self._methods.get(message.method)
        if method is None or method.kind != "request" or params is None:
            raise RpcFault(METHOD_NOT_FOUND, f"There is no method named {message.method[:100]!r}.")
        if isinstance(params, WireError):
            self._respond(message.id, "error", params.as_dict(), batch)
            return
        # Do not await before the task exists: a cancellation that arrives in the same read must find the
        # request and its turn.
        entry = session.admit(message.id, message.method, batch)
        session.record_order(entry, changes=method.changes)
        call = MethodCall(params, message.id, entry)
        try:
            if method.admit is not None:
                method.admit(session, call)
        except Exception:
            session.release(message.id)
            raise
        self._dispatcher.run_request(message.id, message.method, call)

    def _handle_notification(self, message: Notification, params: Params | WireError | None) -> None:
        method = self._methods.get(message.method)
        if method is None or method.kind != "notification" or params is None:
            logger.debug("an unknown notification: %.100r", message.method)
            return
        if not self.session.initialized and message.method != self._contract.last_method:
            return
        if isinstance(params, WireError):
            logger.warning("the notification %s is ignored: %s", message.method, params.message)
            return
        entry = InFlight(message.method)
        self.session.record_order(entry, changes=method.changes)
        self._dispatcher.run_notification(message.method, MethodCall(params, entry=entry))

    def _send_outcome(self, request_id: RequestId, outcome: HandlerOutcome) -> None:
        entry = self.session.release(request_id)
        if entry is None:
            return  # The request has already been answered.
        logger.debug("%s %r: %s", entry.method, request_id, _summarize(outcome))
        if outcome.error is not None:
            self._respond(request_id, "error", outcome.error.as_dict(), entry.batch)
            return
        try:
            self._respond(request_id, "result", outcome.result, entry.batch)
        except ValueError as error:
            # A result that JSON cannot express is a bug in the handler. The client still needs a response.
            self._respond_with_error(request_id, error, entry.batch)

    def _respond_with_error(
        self, request_id: RequestId | None, error: Exception, batch: BatchResponse | None
    ) -> None:
        self._respond(request_id, "error", self.session.encode_error(error).as_dict(), batch)

    def _respond(
        self, request_id: RequestId | None, member: str, value: Any, batch: BatchResponse | None
    ) -> None:
        response = {"jsonrpc": "2.0", "id": request_id, member: value}
        if batch is not None:
            batch.add(response)
        else:
            self._outbox.send(response)


def _summarize(outcome: HandlerOutcome) -> str:
    # Do not log contents: they may be private.
    return "answered" if outcome.error is None else f"error {outcome.error.code}"
