"""A row of the method table, the call that its handler receives, and the handler's outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from jumpseat.connections.faults import WireError
from jumpseat.connections.param_model import NoParams, Params
from jumpseat.connections.session import InFlight

P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class MethodCall(Generic[P]):
    """One validated and admitted message, for its handler."""

    params: P
    request_id: str | int = ""
    """The JSON-RPC id; empty for a notification."""

    entry: InFlight = field(default_factory=lambda: InFlight(""))
    """The session's record of this message."""


@dataclass(frozen=True, slots=True)
class HandlerOutcome:
    """A handler's result or error."""

    result: Any = None
    error: WireError | None = None


Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any] | Any]
"""A function that is called with `(session, call)`; the contract determines the class of the session.

A plain function runs before the next message is read. A coroutine function becomes a task that waits for
earlier changes and that the client may cancel.
"""


@dataclass(frozen=True, slots=True)
class Method:
    """One row of the method table."""

    name: str
    handler: Handler
    params: type[Params] = NoParams
    kind: Literal["request", "notification"] = "request"
    admit: Callable[[Any, Any], None] | None = None
    """A function that may raise to refuse the call. It runs before the handler, and before the next message
    is read. For example, it records a turn's id, so that the next message can cancel the turn."""

    changes: bool = False
    """Whether later messages wait until a call of this method has taken effect. If so, the handler must be a
    coroutine function."""

    lifecycle: bool = False
    """Whether the method belongs to the base protocol, like `shutdown`.

    The response to `initialize` does not list such a method. Its handler does not wait for a slot, and waits
    for earlier messages only if `changes` is set.
    """
