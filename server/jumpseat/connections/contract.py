"""The definition of a protocol that a connection speaks. `rpc/` and `acp/` each have one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from jumpseat.connections.method import Method
from jumpseat.connections.session import Session


class InputReader(Protocol):
    """An incremental decoder of the client's bytes."""

    def feed(self, data: bytes) -> list[Any]:
        """Decode the next piece of input, and return the values and errors that it completes, in order."""

    def is_long(self, count: int) -> bool:
        """Whether decoding the next `count` bytes takes long."""


@dataclass(frozen=True, slots=True)
class Contract:
    """A protocol on top of JSON-RPC."""

    methods: Mapping[str, Method]
    first_method: str
    """The only request that is accepted before `Session.initialized`."""

    uninitialized_code: int
    """The code of the error for any other request before `Session.initialized`."""

    last_method: str | None
    """The only notification that is accepted before `Session.initialized`; None if there is none."""

    new_reader: Callable[[], InputReader]
    frame: Callable[[bytes], bytes]
    """Adds the transport's framing to an encoded message."""

    new_session: Callable[..., Session] = Session
    """Creates the session of a connection, given the arguments of `Session`."""

    ends_with_input: bool = False
    """Whether closing stdin is the regular end of a connection, with the exit code 0."""
