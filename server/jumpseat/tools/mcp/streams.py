"""The streams of messages between the SDK and a program on stdio."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from jumpseat.tools.mcp.notifications import is_used
from jumpseat.wire import Invalid
from jumpseat.wire.line_child import LineChild

MESSAGES_PER_SLICE = 20
"""After this many messages, other tasks can run."""


class ReadStream:
    """The messages of a program. While nobody reads them, the program has to wait."""

    def __init__(self, child: LineChild) -> None:
        self._child = child
        self._number = 0

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            EndOfStream: the program has ended.
        """
        while True:
            self._number += 1
            if self._number % MESSAGES_PER_SLICE == 0:
                await asyncio.sleep(0)
            try:
                value = await self._child.receive()
            except EOFError:
                raise anyio.EndOfStream from None
            if is_used(value):
                return _read_message(value)

    async def aclose(self) -> None:
        """Do nothing: the owner of the program ends it."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class WriteStream:
    """Sends messages to a program. Does not wait until the program reads them."""

    def __init__(self, child: LineChild) -> None:
        self._child = child

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message.

        Raises:
            ClosedResourceError: the program has ended.
        """
        if not self._child.running:
            raise anyio.ClosedResourceError
        self._child.send(item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))

    async def aclose(self) -> None:
        """Do nothing: see `ReadStream.aclose`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _read_message(value: Any) -> SessionMessage | Exception:
    if isinstance(value, Invalid):
        error = ErrorData(code=INVALID_REQUEST, message=value.reason)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=value.id, error=error))
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except ValidationError as error:
        return error
