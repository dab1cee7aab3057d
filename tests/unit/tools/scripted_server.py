"""A tool server with scripted answers, and helpers that use it in a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from jumpseat.chat import ToolUseBlock
from jumpseat.config import Config
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.tools.host import ToolHost
from jumpseat.tools.server import CallContext, Preview, Tool, ToolCall, ToolOutput, ToolServer
from jumpseat.tools.turn_tools import TurnTools
from jumpseat.tools.workspace import Workspace
from jumpseat.wire import write_json

Script: TypeAlias = str | ToolOutput | Exception | asyncio.Event
"""The output of a call, an exception, or an event after which the call returns `done`."""


class ScriptedServer(ToolServer):
    """Answers each call of a tool with the next entry of its script, and with `ok` after the last one."""

    def __init__(self, name: str = "shed", tools: Sequence[str | Tool] = ("dig", "rake")) -> None:
        super().__init__(name)
        self.tools = [
            Tool(name=each, description=f"{each}s") if isinstance(each, str) else each for each in tools
        ]
        self.script: dict[str, list[Script]] = {}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.approved: list[Preview | None] = []
        self.started = asyncio.Semaphore(0)
        self.cancelled: list[str] = []
        self.unavailable: Exception | None = None
        self.on_preview: Callable[[ToolCall], Preview] | None = None
        self.turns: list[str] = []

    def begin_turn(self, context: CallContext) -> ToolServer:
        self.turns.append(f"begin {context.conversation}")
        return self

    async def end_turn(self) -> None:
        self.turns.append("end")

    async def list_tools(self) -> Sequence[Tool]:
        if self.unavailable is not None:
            raise self.unavailable
        return self.tools

    @property
    def known_tools(self) -> Sequence[Tool]:
        return self.tools

    async def preview(self, call: ToolCall) -> Preview:
        return self.on_preview(call) if self.on_preview else await super().preview(call)

    async def call(self, call: ToolCall) -> ToolOutput:
        self.calls.append((call.tool, call.arguments))
        self.approved.append(call.approved)
        self.started.release()
        script = self.script.get(call.tool)
        step = script.pop(0) if script else "ok"
        try:
            if isinstance(step, asyncio.Event):
                await step.wait()
                return ToolOutput("done")
        except asyncio.CancelledError:
            self.cancelled.append(call.tool)
            raise
        if isinstance(step, Exception):
            raise step
        return ToolOutput(step) if isinstance(step, str) else step


def make_host(*servers: ToolServer, environment: Environment | None = None, **options: Any) -> ToolHost:
    """Return a client's tool host with these servers; the options are its table `[tools]`."""
    config = Config.model_validate({"tools": options})
    config.note_origins(Path("/config.toml"), {}, environment or environment_of_process())
    return ToolHost(config, servers)


def begin_turn(host: ToolHost, *selectors: str, turn_id: str = "t", **more: Any) -> TurnTools:
    """Return the tools of a turn; by default, all tools of the server `shed`."""
    context = CallContext(environment_of_process(), Workspace(), more.pop("conversation", "c"))
    return host.begin_turn(selectors or ("shed/*",), context, turn_id=turn_id, **more)


def make_call(name: str, call_id: str = "1", **arguments: Any) -> ToolUseBlock:
    """Return a call by the model."""
    return ToolUseBlock(call_id, name, arguments, write_json(arguments).decode())
