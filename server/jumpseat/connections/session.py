"""The state of one connection: its client, its configuration and its requests in flight."""

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

from jumpseat.adapters.base import ClientInfo
from jumpseat.connections.client_requests import ClientRequests
from jumpseat.connections.faults import RpcFault, WireError, to_wire_error
from jumpseat.connections.outbox import Outbox
from jumpseat.connections.wording import insert_commands
from jumpseat.engine import BlockMemory, Keeper, ShownPaths, TokenMemory
from jumpseat.providers import Registry
from jumpseat.system.environment import Environment
from jumpseat.system.shared import Reference
from jumpseat.system.threads import run_blocking
from jumpseat.wire import INVALID_REQUEST, RequestId

if TYPE_CHECKING:
    from jumpseat.connections.batch import BatchResponse
    from jumpseat.conversations import ConversationLibrary, ConversationStore
    from jumpseat.tools.host import ToolHost

logger = logging.getLogger(__name__)

MAX_IN_FLIGHT = 10_000
"""The maximum number of a client's requests that await their responses."""

RUNNING_REQUESTS = 16
"""The maximum number of a client's requests, not counting turns, that run concurrently; others wait."""

LIBRARY_SECONDS = 60.0
"""How long the index of kept conversations stays open for the next client of a shared daemon."""

MAX_BEGINNING_TURNS = 2
"""The maximum number of a client's turns that begin concurrently; others wait.

There is a limit because each step of a beginning turn delays the daemon's other clients. Once turns have
begun, any number of them can run.
"""

BEGIN_SLOT_SECONDS = 0.005
"""The maximum time for which a beginning turn occupies a slot. Beginning takes 1 to 2 ms of CPU time."""

CHANGE_WAIT_SECONDS = 1.0
"""The maximum time for which a message that changes the session waits until earlier turns have begun."""


@dataclass(slots=True)
class InFlight:
    """A request that has no response yet, or a notification that has not taken effect."""

    method: str
    batch: BatchResponse | None = None
    turn_id: str | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once later changes no longer affect the turn: it has sent its first event or ended."""

    on_answer: Callable[[], None] = lambda: None
    """A callback to run when the turn's provider answers; may be called more than once."""

    finished: asyncio.Event = field(default_factory=asyncio.Event)
    previous_change: InFlight | None = None
    """The last change that arrived before this message and had not taken effect yet, if any."""

    earlier_turns: Sequence[InFlight] = ()
    """The turns that had not begun when this change arrived; empty if this message changes nothing."""


@dataclass(slots=True)
class Session:
    """The state of one connection."""

    outbox: Outbox
    environment: Environment
    """The client's environment variables and directories."""

    config_file: Path | None
    """The configuration file named on the command line."""

    stop: Callable[[], None]
    """A callback that ends the connection; the exit code depends on `shutting_down`."""

    cancel: Callable[[RequestId], bool]
    """A callback that cancels a request in flight; returns False if it is unknown or already cancelled."""

    watch_parent: Callable[[int], None]
    """A callback that takes the id of a process, and ends the connection when that process has ended."""

    method_names: Sequence[str] = ()
    """The names of the contract's methods other than lifecycle methods, for the response to `initialize`."""

    initialized: bool = False
    shutting_down: bool = False
    client_info: ClientInfo | None = None
    coalesce_ms: int = 0
    """The milliseconds between notifications of merged deltas; 0 sends each delta immediately."""

    commands: Mapping[str, str] | None = None
    """The client's commands, which replace the command-line commands in hints; None to keep the hints."""

    overlay: Mapping[str, Any] | None = None
    """The client's configuration overlay that was last accepted."""

    configuration_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """A lock for reading the configuration, so that the version read last takes effect last."""

    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(RUNNING_REQUESTS))
    """The slots that running requests other than turns occupy."""

    begin_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_BEGINNING_TURNS))
    """The slots that turns occupy while they begin."""

    in_flight: dict[RequestId, InFlight] = field(default_factory=dict)
    turns: dict[str, RequestId] = field(default_factory=dict)
    """The ids of the requests that run turns, by turn id."""

    client_requests: ClientRequests = field(init=False)
    memory: BlockMemory = field(default_factory=BlockMemory)
    """The recent answers, for clients that send back only part of an answer."""

    tokens: TokenMemory = field(default_factory=TokenMemory)
    warned_not_kept: deque[str] = field(default_factory=lambda: deque(maxlen=1000))
    """The ids of the last conversations that are not kept and about which the client was warned."""

    folders: Sequence[Path] = ()
    """The client's workspace folders, or its root, if `initialize` named any."""

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """The capabilities of the client, as it declared them."""

    tools: ToolHost | None = None
    """The tools that the daemon runs for this client; None before their first use."""

    announces_tools: bool = False
    """Whether the client is notified about changes of its tools."""

    keepers: WeakSet[Keeper] = field(default_factory=WeakSet)
    """The keepers of turns that are running or still being written."""

    _library: Reference[ConversationLibrary] | None = None
    _registry: Registry | None = None
    _shown_paths: ShownPaths | None = None
    _last_change: InFlight | None = None
    _background: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.client_requests = ClientRequests(self.outbox)

    @property
    def directory(self) -> Path:
        """The first workspace folder, else the working directory."""
        return self.folders[0] if self.folders else self.environment.directory

    @property
    def shown_paths(self) -> ShownPaths:
        """The rules for showing the paths of this client's files to the model."""
        if self._shown_paths is None:
            self._shown_paths = self.shown_paths_in(self.directory)
        return self._shown_paths

    def shown_paths_in(self, directory: Path) -> ShownPaths:
        """Return the rules for showing paths relative to a directory."""
        home = str(self.environment.expand_path("~"))
        return ShownPaths(str(directory), os.path.realpath(directory), home)

    def encode_error(self, exception: BaseException) -> WireError:
        """Return the wire error for an exception, with the commands of this client in its texts."""
        error = to_wire_error(exception)
        return WireError(
            error.code, **insert_commands({"message": error.message, "data": error.data}, self.commands)
        )

    @property
    def registry(self) -> Registry:
        """The client's providers, which are not available before `initialize`."""
        if self._registry is None:
            raise RuntimeError("the registry is used before initialize")
        return self._registry

    @registry.setter
    def registry(self, registry: Registry) -> None:
        self._registry = registry

    @property
    def library(self) -> ConversationLibrary:
        """The user's kept conversations, which all clients with the same state directory share."""
        if self._library is None:
            # Deferred: some clients keep nothing.
            from jumpseat.conversations import ConversationLibrary, conversations_directory

            directory = conversations_directory(self.environment.places.state_dir)
            self._library = self.environment.shared.acquire(
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
        """Record the client's last used conversation, which must not be pruned."""
        self.library.last_used[id(self)] = conversation_id

    async def wait_until_kept(self, timeout: float) -> None:
        """Wait up to `timeout` seconds until the turns that have ended are written."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                for keeper in list(self.keepers):
                    await keeper.wait_until_written()

    def admit(self, request_id: RequestId, method: str, batch: BatchResponse | None) -> InFlight:
        """Record a request as in flight.

        Raises:
            RpcFault: the id belongs to another request in flight, or too many requests are in flight.
        """
        if len(self.in_flight) >= MAX_IN_FLIGHT:
            raise RpcFault(
                INVALID_REQUEST,
                f"{MAX_IN_FLIGHT} requests are pending. Wait for responses before you send another.",
            )
        if request_id in self.in_flight:
            raise RpcFault(INVALID_REQUEST, f"A request with the id {request_id!r} is still pending.")
        entry = self.in_flight[request_id] = InFlight(method, batch)
        return entry

    def release(self, request_id: RequestId) -> InFlight | None:
        """Remove a request that has been answered, and return its entry; None if the id is unknown."""
        entry = self.in_flight.pop(request_id, None)
        if entry is not None:
            entry.begun.set()
            entry.finished.set()
            if entry.turn_id is not None:
                self.turns.pop(entry.turn_id, None)
        return entry

    def record_order(self, entry: InFlight, *, changes: bool) -> None:
        """Record a message's place in the order of arrival. Call it when the message arrives.

        Args:
            entry: the entry of the message.
            changes: whether later messages wait until this one has taken effect.
        """
        last = self._last_change
        while last is not None and last.finished.is_set():
            last = last.previous_change
        entry.previous_change = last
        if changes:
            entry.earlier_turns = [
                other for other in self.in_flight.values() if other.turn_id and not other.begun.is_set()
            ]
        self._last_change = entry if changes else last

    async def wait_for_earlier_messages(self, entry: InFlight) -> None:
        """Wait until earlier changes have taken effect and, for a change, until earlier turns have begun."""
        while entry.previous_change is not None:
            await entry.previous_change.finished.wait()
            entry.previous_change = entry.previous_change.previous_change
        if not entry.earlier_turns:
            return
        # The semaphore is first in, first out, so no earlier turn still waits for it afterwards.
        async with self.begin_slots:
            pass
        # Limit the wait: an earlier turn may first request a list of models from its provider, and all
        # requests after this change wait too.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CHANGE_WAIT_SECONDS):
                for turn in entry.earlier_turns:
                    await turn.begun.wait()
        entry.earlier_turns = ()

    @contextlib.asynccontextmanager
    async def begin_turn(self, entry: InFlight) -> AsyncIterator[None]:
        """Occupy one of `begin_slots` until the turn's provider answers or the turn ends.

        The slot is released after `BEGIN_SLOT_SECONDS` at the latest, so a slow provider does not delay
        other turns.
        """
        await self.begin_slots.acquire()
        with contextlib.ExitStack() as slot:
            slot.callback(self.begin_slots.release)
            timer = asyncio.get_running_loop().call_later(BEGIN_SLOT_SECONDS, slot.close)
            slot.callback(timer.cancel)
            entry.on_answer = slot.close
            yield

    async def cancel_others(self, request_id: RequestId | None, timeout: float) -> None:
        """Cancel all other requests and wait at most `timeout` seconds for their responses."""
        others = {key: entry for key, entry in self.in_flight.items() if key != request_id}
        for key in others:
            self.cancel(key)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                for entry in others.values():
                    await entry.finished.wait()

    def run_in_background(self, description: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine until it or the connection ends.

        Args:
            description: a few words for the log if the work fails.
            work: returns the coroutine.
        """

        async def run_and_log() -> None:
            try:
                await work()
            except Exception:
                logger.exception("%s failed", description)

        task = asyncio.ensure_future(run_and_log())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def aclose(self) -> None:
        """Cancel background tasks, close the providers and wait until everything has ended."""
        for task in self._background:
            task.cancel()
        if self._registry is not None:
            await self._registry.aclose()
        for entry in list(self.in_flight.values()):
            await entry.finished.wait()
        # Turns may have started more tasks as they ended.
        for task in self._background:
            task.cancel()
        if self._background:
            await asyncio.wait(self._background)
        if self.tools is not None:
            await self.tools.aclose()
        if self._library is not None:
            self._library.value.last_used.pop(id(self), None)
            await self._library.release()
