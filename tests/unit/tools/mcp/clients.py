"""Clients that use MCP servers, with their turns and calls, and the record that the servers write."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jumpseat.chat import StreamEvent, ToolResultBlock, ToolUseBlock
from jumpseat.config import Config, load_config
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.system.shared import Shared
from jumpseat.tools.host import ToolHost
from jumpseat.tools.server import CallContext, ServerStatus
from jumpseat.tools.turn_tools import TurnTools
from jumpseat.tools.workspace import Workspace
from jumpseat.wire import write_json
from tests.processes import wait_until_gone

WAIT_SECONDS = 30.0


class Client:
    """A client of a daemon, with its own configuration and environment."""

    def __init__(
        self,
        home: Path,
        text: str,
        *,
        overlay: Mapping[str, Any] | None = None,
        folder: Path | None = None,
        shared: Shared | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self.folder = folder
        base = environment_of_process()
        self.environment = Environment(
            {**base.variables, **(variables or {})}, base.directory, base.places, shared or Shared()
        )
        self.host = ToolHost(self.load(text, overlay), [], folder)
        self.events: list[StreamEvent] = []
        self.changes = 0
        self.changed = asyncio.Condition()
        self.host.on_change = self._count_change
        self._tasks: set[asyncio.Task[None]] = set()

    def _count_change(self) -> None:
        self.changes += 1
        task = asyncio.ensure_future(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    def load(self, text: str, overlay: Mapping[str, Any] | None = None) -> Config:
        """Write the configuration file, and return the configuration with the overlay applied."""
        (self.home / "config.toml").write_text(text, "utf-8")
        return load_config(None, overlay, environment=self.environment)

    async def reconfigure(self, text: str, overlay: Mapping[str, Any] | None = None) -> None:
        """Use another configuration, as a session does."""
        for server in self.host.reconfigure(self.load(text, overlay)):
            await server.retire()

    def status(self, name: str) -> ServerStatus:
        """Return the state of a server."""
        return self.host.servers[name].status

    async def wait_for_state(self, name: str, state: str) -> ServerStatus:
        """Wait until a server has this state."""
        async with asyncio.timeout(WAIT_SECONDS), self.changed:
            await self.changed.wait_for(lambda: self.status(name).state == state)
        return self.status(name)

    @asynccontextmanager
    async def turn(
        self, *selectors: str, conversation: str = "c", folder: Path | None = None
    ) -> AsyncIterator[Turn]:
        """Begin a turn with these tools, and end it afterwards."""
        used = folder or self.folder
        context = CallContext(self.environment, Workspace([used] if used else []), conversation)
        tools = self.host.begin_turn(selectors, context, turn_id="t")
        turn = Turn(tools)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                turn.warnings = [each.message for each in await tools.open([], self.events.append)]
            yield turn
        finally:
            await tools.aclose()

    async def call(self, name: str, /, *, folder: Path | None = None, **arguments: Any) -> ToolResultBlock:
        """Run one call in its own turn."""
        server = name.partition("__")[0]
        async with self.turn(f"{server}/*", folder=folder) as turn:
            return await turn.call(name, **arguments)

    async def read_facts(self, server: str, **more: Any) -> dict[str, Any]:
        """Return the environment, the directory and the process id of a fake server."""
        facts: dict[str, Any] = json.loads((await self.call(f"{server}__environ", **more)).text)
        return facts

    async def aclose(self) -> None:
        """End the session."""
        await self.host.aclose()


class Turn:
    """One turn."""

    def __init__(self, tools: TurnTools) -> None:
        self.tools = tools
        self.warnings: Sequence[str] = ()
        self.events: list[StreamEvent] = []
        self._queue: asyncio.Queue[StreamEvent] = asyncio.Queue()

    @property
    def names(self) -> list[str]:
        """The names of the offered tools."""
        return [definition.name for definition in self.tools.definitions]

    async def call(self, name: str, /, **arguments: Any) -> ToolResultBlock:
        """Run a call to its end."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.start(name, **arguments)

    def start(self, name: str, /, **arguments: Any) -> asyncio.Task[ToolResultBlock]:
        """Start a call."""
        block = ToolUseBlock("1", name, arguments, write_json(arguments).decode())
        return asyncio.ensure_future(self.tools.run(block, self._receive))

    def _receive(self, event: StreamEvent) -> None:
        self.events.append(event)
        self._queue.put_nowait(event)

    async def next_event(self) -> StreamEvent:
        """Wait for the next event of a call."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self._queue.get()


class Record:
    """The file in which fake servers record what happens."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def lines(self) -> list[str]:
        """The lines that the servers have written so far."""
        return self.path.read_text("utf-8").splitlines() if self.path.exists() else []

    def pids(self, word: str = "start") -> list[int]:
        """Return the process ids of the servers, or with the word `child`, of their child processes."""
        return [int(line.split()[1]) for line in self.lines if line.startswith(f"{word} ")]

    async def wait_for(self, text: str) -> None:
        """Wait until a line contains this text."""
        assert await asyncio.to_thread(self._poll, text), f"{text!r} is not in {self.lines}"

    def _poll(self, text: str) -> bool:
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            if any(text in line for line in self.lines):
                return True
            time.sleep(0.01)
        return False

    async def wait_until_gone(self) -> bool:
        """Wait until all processes have ended, and return whether they did in time."""
        return all([await wait_until_gone(pid) for word in ("start", "child") for pid in self.pids(word)])
