"""A plug-in whose file tools resemble the built-in ones, for tests of clients that show tool calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from jumpseat.chat import FileDiff
from jumpseat.system.environment import Environment
from jumpseat.tools.server import Preview, Tool, ToolCall, ToolError, ToolOutput, ToolServer
from tests.fakes import tool_plugin

TEXT = {"type": "string"}
TOOLS = (
    Tool(
        name="read",
        description="Reads a file.",
        parameters={"type": "object", "properties": {"path": TEXT}},
        kind="read",
    ),
    Tool(
        name="edit",
        description="Replaces a text in a file.",
        parameters={"type": "object", "properties": {"path": TEXT, "oldText": TEXT, "newText": TEXT}},
        kind="edit",
    ),
    Tool(name="search", description="Reports progress until it is cancelled.", kind="search"),
)


class Desk(ToolServer):
    """Reads and changes files of the first workspace folder."""

    async def list_tools(self) -> Sequence[Tool]:
        return TOOLS

    @property
    def known_tools(self) -> Sequence[Tool]:
        return TOOLS

    async def preview(self, call: ToolCall) -> Preview:
        path = self._find(call)
        if call.tool != "edit":
            return Preview(f"{call.tool.title()} {path.name}", is_outside=self._is_outside(call))
        old = path.read_text("utf-8")
        if call.arguments["oldText"] not in old:
            raise ToolError("The text does not occur in the file.")
        new = old.replace(call.arguments["oldText"], call.arguments["newText"])
        return Preview(f"Edit {path.name}", [FileDiff(path.as_uri(), old, new)], self._is_outside(call))

    async def call(self, call: ToolCall) -> ToolOutput:
        path = self._find(call)
        if call.tool == "read":
            return ToolOutput(path.read_text("utf-8"))
        if call.tool == "search":
            call.report_progress(1, 4, "Searching")
            await asyncio.Event().wait()
        path.write_text((await self.preview(call)).diff[0].new_text, "utf-8")
        return ToolOutput(f"{path.name} is changed.")

    def _find(self, call: ToolCall) -> Path:
        return call.context.workspace.folders[0] / call.arguments.get("path", "")

    def _is_outside(self, call: ToolCall) -> bool:
        return not self._find(call).resolve().is_relative_to(call.context.workspace.folders[0].resolve())


def create(environment: Environment) -> Desk:
    """Create the server."""
    return Desk("desk")


def install(site: Path) -> dict[str, str]:
    """Write the plug-in's distribution; return the environment of a daemon that finds it."""
    return tool_plugin.install(site, "desk", module=__name__)
