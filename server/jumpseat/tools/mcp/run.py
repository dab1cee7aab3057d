"""The run of a server, with its starts and ends.

Clients share a run if their programs or URLs, with all options, are equal. If the scope of the server is a
workspace or a conversation, they also need the same one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from jumpseat.system.environment import Environment
from jumpseat.system.packages import install_command
from jumpseat.system.single_flight import SingleFlight, WorkCancelled
from jumpseat.system.start_limit import StartLimit
from jumpseat.system.threads import run_blocking
from jumpseat.tools.mcp.definition import NeedsSignInError, Program, Remote
from jumpseat.tools.mcp.record import RecordedRun, ServerRecord
from jumpseat.tools.server import (
    ReportProgress,
    ServerState,
    ServerUnavailableError,
    Tool,
    ToolError,
    ToolOutput,
)

if TYPE_CHECKING:
    from jumpseat.tools.mcp.links import ServerLink

logger = logging.getLogger(__name__)

RESTARTS = 3
"""The maximum number of restarts of a failed server within `RESTARTS_WITHIN_SECONDS`."""

RESTARTS_WITHIN_SECONDS = 600.0

STOP_SECONDS = 4.0
"""How long a server may take to end before it is killed."""

CLOSE_SECONDS = 0.3
"""How long a server may take to end when the daemon ends. The daemon itself must end within half a second."""


class ServerRun(RecordedRun):
    """Starts, restarts and stops one server. Belongs to the event loop on which it is used."""

    def __init__(
        self, name: str, target: Program | Remote, environment: Environment, record: ServerRecord
    ) -> None:
        """
        Args:
            name: the name of the server, for messages.
            target: the program or the URL.
            environment: the environment of the client that uses the server first.
            record: the record of the definition.
        """
        self.idle_seconds = 0.0
        """How long the server may run without a turn before it is stopped."""

        self._name = name
        self._target = target
        self._environment = environment
        self._record = record
        self._link: ServerLink | None = None
        self._start_flight: SingleFlight[None] = SingleFlight()
        self._restarts = StartLimit(RESTARTS, RESTARTS_WITHIN_SECONDS)
        self._has_died = False
        """Whether the last program ended by itself or was never ready. The next start is then a restart."""

        self._turns = 0
        self._clients = 0
        self._idle_timer: asyncio.TimerHandle | None = None
        """The timer that stops the server."""

        self._tasks: set[asyncio.Task[None]] = set()
        self._links: set[ServerLink] = set()
        """The links that have not ended yet."""

        self._changing = asyncio.Lock()
        """Held while a process starts or ends, because two processes must not use the same files."""

        record.runs.add(self)

    @property
    def works_without_token(self) -> bool:
        """Whether the server is running without a token; see the base class."""
        return self._link is not None and not self._link.has_sent_token

    # -- turns and clients

    def begin_turn(self) -> None:
        """Keep the server running until `end_turn`."""
        self._turns += 1
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def end_turn(self) -> None:
        """End a turn. After the last turn, the server stops when it has been idle long enough."""
        self._turns -= 1
        self._watch_idleness()

    def add_client(self, idle_seconds: float) -> None:
        """Count a client that uses the server.

        Args:
            idle_seconds: how long the client allows the server to run without a turn.
        """
        self._clients += 1
        self.idle_seconds = max(self.idle_seconds, idle_seconds)

    def remove_client(self, *, is_obsolete: bool) -> None:
        """Stop counting a client.

        Args:
            is_obsolete: whether to stop the server after the current turns if this was the last client.
        """
        self._clients -= 1
        if is_obsolete and self._clients == 0:
            self.idle_seconds = 0.0
            self._watch_idleness()

    def _watch_idleness(self) -> None:
        """Start the timer that stops the server, unless a turn uses the server."""
        if self._turns == 0 and self._link is not None:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(self.idle_seconds, self._stop_soon)

    def _stop_soon(self) -> None:
        if self._turns == 0 and self._link is not None:
            link, self._link = self._link, None
            self._set_state("stopped", None)
            self._end_soon(link)

    def _end_soon(self, link: ServerLink) -> None:
        task = asyncio.ensure_future(self._end_link(link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- start and stop

    async def start(self, seconds: float) -> Sequence[Tool]:
        """Start the server if it is not running, and return its tools. Concurrent callers share one start.

        Args:
            seconds: the time limit for the start.

        Raises:
            ServerUnavailableError: the server cannot be started or reached.
        """
        if self._link is None or not self._link.is_open:
            try:
                await self._start_flight.run(lambda: self._start(seconds))
            except WorkCancelled:
                raise ServerUnavailableError(f"The server {self._name} was stopped.") from None
        return self._link.tools if self._link is not None else ()

    async def _start(self, seconds: float) -> None:
        async with self._changing:
            if (old := self._link) is not None:
                # The old connection has ended, but `_handle_end` was not called yet.
                await old.aclose(STOP_SECONDS)
                self._links.discard(old)
                self._lose(old)
            await self._start_now(seconds)

    async def _start_now(self, seconds: float) -> None:
        # If this is a restart, `count` counts it, and returns None if it is within the limit.
        if self._has_died and self._restarts.count() is not None:
            last = self.error or ""
            self._set_state("failed", self.error)
            raise ServerUnavailableError(
                f"The server {self._name} has ended too often, so it is not started for now. {last}".strip()
            )
        self._has_died = False
        self._set_state("starting", None)
        link = None
        try:
            links = await import_with_sdk("jumpseat.tools.mcp.links")
            link = cast(
                "ServerLink",
                links.open_link(
                    self._name, self._target, self._environment, self._handle_list, self._handle_end
                ),
            )
            self._links.add(link)
            async with asyncio.timeout(seconds):
                await link.start()
        except TimeoutError:
            error = ServerUnavailableError(f"The server {self._name} was not ready within {seconds:g} s.")
            raise self._report_failure(error, link) from None
        except ServerUnavailableError as error:
            raise self._report_failure(error, link) from None
        except BaseException:
            self._set_state("stopped", None)
            if link is not None:
                self._links.discard(link)
            raise
        self._link = link
        self._set_state("running", None)
        self._record_tools()
        self._watch_idleness()

    def _report_failure(
        self, error: ServerUnavailableError, link: ServerLink | None
    ) -> ServerUnavailableError:
        if link is not None:
            self._links.discard(link)
            self._has_died = link.has_started_program
        state: ServerState = "needs_sign_in" if isinstance(error, NeedsSignInError) else "failed"
        self._set_state(state, str(error))
        return error

    async def reset(self) -> None:
        """Stop the server, even during a turn, and forget its failures; see the base class."""
        self._restarts.clear()
        self._has_died = False
        link, self._link = self._link, None
        self._set_state("stopped", None)
        if link is not None:
            await self._end_link(link)

    async def close(self) -> None:
        """Stop the server for good, within half a second."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        await self._start_flight.aclose()
        self._link = None
        await asyncio.gather(*(link.aclose(CLOSE_SECONDS) for link in self._links))
        self._record.runs.discard(self)
        self._set_state("stopped", None)

    async def _end_link(self, link: ServerLink) -> None:
        async with self._changing:
            await link.aclose(STOP_SECONDS)
            self._links.discard(link)

    # -- calls

    async def call(
        self, tool: str, arguments: Mapping[str, Any], report_progress: ReportProgress, seconds: float
    ) -> ToolOutput:
        """Run a call. If the server has ended, start it again first.

        Args:
            tool: the server's name for the tool.
            arguments: the arguments.
            report_progress: receives the progress that the server reports.
            seconds: the time limit for the start.

        Raises:
            ToolError: the call failed.
        """
        try:
            await self.start(seconds)
        except ServerUnavailableError as error:
            raise ToolError(str(error)) from None
        link = self._link
        if link is None:
            raise ToolError(f"The server {self._name} was stopped.")
        try:
            return await link.call(tool, arguments, report_progress)
        except NeedsSignInError as error:
            if self._link is link:
                self._link = None
                self._end_soon(link)
            self._set_state("needs_sign_in", str(error))
            raise ToolError(str(error)) from None
        finally:
            if not link.is_open:
                self._handle_end(link)

    # -- called by the link

    def _handle_list(self) -> None:
        if self._link is not None:
            self._record_tools()
            self._record.announce()

    def _record_tools(self) -> None:
        assert self._link is not None  # noqa: S101 - it was started
        self._record.tools = self._link.tools

    def _handle_end(self, link: ServerLink) -> None:
        """Handle the end of a connection that we did not close."""
        if self._link is link:
            self._lose(link)
            self._end_soon(link)

    def _lose(self, link: ServerLink) -> None:
        """Report that a connection has ended by itself, and no longer use it."""
        self._link = None
        self._has_died = link.has_started_program
        why = link.explain_end()
        logger.warning("%s", why)
        self._set_state("stopped", why)

    def _set_state(self, state: ServerState, error: str | None) -> None:
        changed = (state, error) != (self.state, self.error)
        self.state, self.error = state, error
        if changed:
            self._record.announce()


async def import_with_sdk(name: str) -> ModuleType:
    """In a thread, import a module of jumpseat that imports the SDK.

    Raises:
        ServerUnavailableError: the SDK is not installed.
    """
    try:
        # The SDK takes half a second to import, which would delay all chats.
        return await run_blocking(import_module, name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise ServerUnavailableError(
            "MCP servers need the Python package mcp, which is not installed. Install it into the "
            f"environment of jumpseat: {install_command('mcp>=2.3,<3')}"
        ) from None
