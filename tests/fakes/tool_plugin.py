"""A plug-in with a tool server. The daemon loads it from a distribution in a directory of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from jumpseat.chat import FileDiff
from jumpseat.system.environment import Environment
from jumpseat.tools.server import Preview, Tool, ToolCall, ToolError, ToolOutput, ToolServer

ROOT = Path(__file__).parents[2]

TOOLS = (
    Tool(
        name="echo", title="Echo", description="Returns its text.", parameters={"type": "object"}, kind="read"
    ),
    Tool(name="wait", description="Never ends.", parameters={"type": "object"}),
    Tool(
        name="replace",
        description="Replaces the unsaved text of a file.",
        parameters={"type": "object"},
        kind="edit",
    ),
)


class Shed(ToolServer):
    """Echoes texts, waits, and replaces the unsaved text of a file in the client's editor."""

    async def list_tools(self) -> Sequence[Tool]:
        return TOOLS

    @property
    def known_tools(self) -> Sequence[Tool]:
        return TOOLS

    async def preview(self, call: ToolCall) -> Preview:
        if call.tool not in {tool.name for tool in TOOLS}:
            raise ToolError(f"There is no tool named {call.tool}.")
        if call.tool != "replace":
            return await super().preview(call)
        if not {"uri", "text"} <= call.arguments.keys():
            raise ToolError("uri and text are missing.")
        uri = call.arguments["uri"]
        return Preview(f"Replace {uri}", [FileDiff(uri, None, call.arguments["text"])])

    async def call(self, call: ToolCall) -> ToolOutput:
        if call.tool == "wait":
            await asyncio.Event().wait()
        if call.tool == "echo":
            return ToolOutput(
                f"{call.arguments.get('text', '')} in {list(map(str, call.context.workspace.folders))}"
            )
        try:
            (file,) = await call.context.workspace.find_unsaved([call.arguments["uri"]])
            is_applied = await call.context.workspace.replace_text(file, call.arguments["text"])
        except TimeoutError:
            raise ToolError("The editor did not answer.") from None
        return ToolOutput("replaced" if is_applied else "refused", is_error=not is_applied)


def create(environment: Environment) -> Shed:
    """Create the server."""
    return Shed("shed")


def install(site: Path, *names: str, module: str = __name__) -> dict[str, str]:
    """Write the plug-in's distribution; return the environment of a daemon that finds it.

    Args:
        site: the directory to write it to.
        names: the names of the plug-in's servers; without names, the only server is `shed`.
        module: the module whose function `create` creates each server.
    """
    directory = site / "shed-1.dist-info"
    directory.mkdir(parents=True)
    (directory / "METADATA").write_text("Metadata-Version: 2.1\nName: shed\nVersion: 1\n", "utf-8")
    rows = "".join(f"{name} = {module}:create\n" for name in names or ("shed",))
    (directory / "entry_points.txt").write_text(f"[jumpseat.tools]\n{rows}", "utf-8")
    return {"PYTHONPATH": f"{site}:{ROOT}"}
