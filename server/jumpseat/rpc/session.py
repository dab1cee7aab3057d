"""The state of one connection: its client, its configuration, its requests in flight."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from jumpseat.engine import BlockMemory, Keeper, ShownPaths, TokenMemory
from jumpseat.providers import Registry
from jumpseat.rpc.client_requests import ClientRequests
from jumpseat.rpc.faults import RpcFault, WireError, wire_error
from jumpseat.rpc.outbox import Outbox
from jumpseat.rpc.params import ClientInfoParam
from jumpseat.rpc.wording import name_commands
from jumpseat.system.environment import Environment
from jumpseat.system.shared import Held
from jumpseat.system.threads import run_blocking
from jumpseat.wire import INVALID_REQUEST, RequestId

if TYPE_CHECKING:
    from jumpseat.conversations import ConversationLibrary, ConversationStore
    from jumpseat.rpc.batch import BatchResponse


logger = logging.getLogger(__name__)

MAX_IN_FLIGHT = 10_000
"""How many requests of one client may wait for their responses."""

RUNNING_REQUESTS = 16
"""How many requests of one client run at the same time, turns not counted; the others wait."""

LIBRARY_SECONDS = 60.0
"""How long the index of the kept conversations stays open for the next client of a shared daemon."""

BEGINNING_TURNS = 2
"""How many turns of one client begin at the same time; the others wait. Any number may run.

Each step of each of them delays the other clients of the daemon.
"""

BEGINNING_SECONDS = 0.005
"""How long a turn counts as beginning if its provider does not answer. A beginning costs 1 to 2 ms of CPU."""

BEGIN_SECONDS = 1.0
"""How long a change waits until the turns before it have begun."""


@dataclass(slots=True)
class InFlight:
    """A request that has no response yet, or a notification that has not taken effect."""

    method: str
    batch: BatchResponse | None = None
    turn_id: str | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a turn depends on no later change: it sent its first event, or it ended."""

    on_answer: Callable[[], None] = lambda: None
    """Called when the provider of a turn answers; may be called more than once."""

    finished: asyncio.Event = field(default_factory=asyncio.Event)
    behind: InFlight | None = None
    """The last earlier change that may not have taken effect yet."""

    ahead: Sequence[InFlight] = ()
    """For a change: the earlier turns that had not begun when it arrived."""


@dataclass(slots=True)
class Session:
    """The state of one connection."""

    outbox: Outbox
    environment: Environment
    """The client's variables and directories."""

    config_file: Path | None
    """The configuration file of the command line, if it has one."""

    stop: Callable[[], None]
    """Ends the connection; its exit code depends on `shutting_down`."""

    cancel: Callable[[RequestId], bool]
    """Cancels a request in flight; False if it is unknown or already cancelled."""

    watch_parent: Callable[[int], None]
    """Ends the connection when this process has ended."""

    method_names: Sequence[str] = ()
    """The methods of jumpseat's own contract, for the response to `initialize`."""

    initialized: bool = False
    shutting_down: bool = False
    client_info: ClientInfoParam | None = None
    coalesce_ms: int = 0
    commands: Mapping[str, str] | None = None
    """The client's commands, which hints name; None if they name those of the command line."""

    overlay: Mapping[str, Any] | None = None
    """The client's own configuration, as last accepted."""

    configuring: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a configuration is read, so that the last one is in force at the end."""

    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(RUNNING_REQUESTS))
    """One for each running request."""

    beginnings: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(BEGINNING_TURNS))
    """One for each turn that begins."""

    in_flight: dict[RequestId, InFlight] = field(default_factory=dict)
    turns: dict[str, RequestId] = field(default_factory=dict)
    """The requests that run turns, by the id of the turn."""

    client_requests: ClientRequests = field(init=False)
    memory: BlockMemory = field(default_factory=BlockMemory)
    """The recent answers, for clients that send back only a part of an answer."""

    tokens: TokenMemory = field(default_factory=TokenMemory)
    warned_not_kept: deque[str] = field(default_factory=lambda: deque(maxlen=1000))
    """The latest conversations whose client was warned that they are not kept."""

    workspace: Path | None = None
    """The directory that the client works in, if `initialize` named one."""

    keepers: WeakSet[Keeper] = field(default_factory=WeakSet)
    """Of the turns in flight that are kept."""

    _library: Held[ConversationLibrary] | None = None
    _registry: Registry | None = None
    _last_change: InFlight | None = None
    _background: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.client_requests = ClientRequests(self.outbox)

    @property
    def directory(self) -> Path:
        """The first workspace folder, else the working directory."""
        return self.workspace or self.environment.directory

    @property
    def shown_paths(self) -> ShownPaths:
        """How the model sees the paths of this client's files."""
        directory = str(self.directory)
        return ShownPaths(directory, os.path.realpath(directory), str(self.environment.expanded("~")))

    def error_of(self, exception: BaseException) -> WireError:
        """Return the wire error for an exception, as `wire_error` does, in the words of this client."""
        error = wire_error(exception)
        return WireError(
            error.code, **name_commands({"message": error.message, "data": error.data}, self.commands)
        )

    @property
    def registry(self) -> Registry:
        """The providers of this client; not available before `initialize`."""
        if self._registry is None:
            raise RuntimeError("the registry is used before initialize")
        return self._registry

    @registry.setter
    def registry(self, registry: Registry) -> None:
        self._registry = registry

    @property
    def library(self) -> ConversationLibrary:
        """The kept conversations of the user, which all clients with the same state directory share."""
        if self._library is None:
            # Deferred: a client may keep nothing.
            from jumpseat.conversations import ConversationLibrary, conversations_directory

            directory = conversations_directory(self.environment.places.state_dir)
            self._library = self.environment.shared.hold(
                ("conversations", directory),
                lambda: ConversationLibrary(directory),
                lambda library: run_blocking(library.close),
                linger=LIBRARY_SECONDS,
            )
        return self._library.value

    @property
    def conversations(self) -> ConversationStore:
        """The store of the kept conversations."""
        return self.library.store

    def use_conversation(self, conversation_id: str) -> None:
        """Record the conversation that the client used last, which is not pruned."""
        self.library.last_used[id(self)] = conversation_id

    async def until_kept(self, timeout: float) -> None:
        """Wait up to `timeout` seconds until the turns that have ended are kept."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                for keeper in list(self.keepers):
                    await keeper.written()

    def admit(self, request_id: RequestId, method: str, batch: BatchResponse | None) -> InFlight:
        """Record a request as in flight.

        Raises:
            RpcFault: its id belongs to another request in flight, or too many are in flight.
        """
        if len(self.in_flight) >= MAX_IN_FLIGHT:
            raise RpcFault(
                INVALID_REQUEST,
                f"{MAX_IN_FLIGHT} requests are in flight. Wait for responses before the next request.",
            )
        if request_id in self.in_flight:
            raise RpcFault(INVALID_REQUEST, f"A request with the id {request_id!r} is still in flight.")
        entry = self.in_flight[request_id] = InFlight(method, batch)
        return entry

    def release(self, request_id: RequestId) -> InFlight | None:
        """Remove a request whose response is sent."""
        entry = self.in_flight.pop(request_id, None)
        if entry is not None:
            entry.begun.set()
            entry.finished.set()
            if entry.turn_id is not None:
                self.turns.pop(entry.turn_id, None)
        return entry

    def line_up(self, entry: InFlight, *, changes: bool) -> None:
        """Record a message's place in the order of arrival. Call it when the message arrives.

        Args:
            entry: the message's.
            changes: whether later messages wait until this one has taken effect.
        """
        last = self._last_change
        while last is not None and last.finished.is_set():
            last = last.behind
        entry.behind = last
        if changes:
            entry.ahead = [
                other for other in self.in_flight.values() if other.turn_id and not other.begun.is_set()
            ]
        self._last_change = entry if changes else last

    async def wait_for_its_turn(self, entry: InFlight) -> None:
        """Return when earlier changes have taken effect, and for a change, when earlier turns have begun."""
        while entry.behind is not None:
            await entry.behind.finished.wait()
            entry.behind = entry.behind.behind
        if entry.ahead:
            # The semaphore is first in, first out, so no earlier turn still waits for it afterwards.
            async with self.beginnings:
                pass
        # Bounded: a turn may first request a list of models from its provider, and the requests after the
        # change wait too.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BEGIN_SECONDS):
                for turn in entry.ahead:
                    await turn.begun.wait()
        entry.ahead = ()

    @contextlib.asynccontextmanager
    async def beginning(self, entry: InFlight) -> AsyncIterator[None]:
        """Wait until few turns are beginning. This turn counts until its provider answers or it ends.

        It counts for at most `BEGINNING_SECONDS`, so a slow provider does not delay other turns.
        """
        await self.beginnings.acquire()
        with contextlib.ExitStack() as place:
            place.callback(self.beginnings.release)
            timer = asyncio.get_running_loop().call_later(BEGINNING_SECONDS, place.close)
            place.callback(timer.cancel)
            entry.on_answer = place.close
            yield

    async def cancel_others(self, request_id: RequestId | None, timeout: float) -> None:
        """Cancel all other requests, and wait at most `timeout` seconds for their responses."""
        others = {key: entry for key, entry in self.in_flight.items() if key != request_id}
        for key in others:
            self.cancel(key)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                for entry in others.values():
                    await entry.finished.wait()

    def run_in_background(self, what: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine until it ends, or until the connection does.

        Args:
            what: a few words for the log if it fails.
            work: what to run.
        """

        async def guarded() -> None:
            try:
                await work()
            except Exception:
                logger.exception("%s failed", what)

        task = asyncio.ensure_future(guarded())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def aclose(self) -> None:
        """End what runs in the background, close what the providers hold, and wait until all has ended."""
        for task in self._background:
            task.cancel()
        if self._registry is not None:
            await self._registry.aclose()
        for entry in list(self.in_flight.values()):
            await entry.finished.wait()
        # Also what began in the meantime, at the end of a turn.
        for task in self._background:
            task.cancel()
        if self._background:
            await asyncio.wait(self._background)
        if self._library is not None:
            self._library.value.last_used.pop(id(self), None)
            await self._library.release()
