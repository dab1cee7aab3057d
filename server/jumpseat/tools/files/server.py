"""The server of the file tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpseat.system.environment import Environment
from jumpseat.tools.files.access import use_disk
from jumpseat.tools.files.arguments import parse_arguments
from jumpseat.tools.files.changing import EditTool, WriteTool
from jumpseat.tools.files.locations import Locator
from jumpseat.tools.files.reading import ReadTool
from jumpseat.tools.files.resources import acquire_resources
from jumpseat.tools.files.scanning import ListTool, SearchTool
from jumpseat.tools.files.tool import FileCall, FileTool
from jumpseat.tools.server import (
    CallContext,
    Preview,
    ServerStatus,
    Tool,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolServer,
)

NAME = "files"


class FileTools(ToolServer):
    """The file tools of one client."""

    def __init__(self, environment: Environment, config_file: Path) -> None:
        """
        Args:
            environment: the client's environment.
            config_file: the client's configuration file, which the tools must not touch.
        """
        super().__init__(NAME)
        self._own = (*environment.places.own, config_file)
        self._resources = acquire_resources(environment)
        resources = self._resources.value
        tools: Sequence[FileTool[Any]] = (
            ReadTool(),
            ListTool(resources),
            SearchTool(resources),
            EditTool(resources),
            WriteTool(resources),
        )
        self._tools: Mapping[str, FileTool[Any]] = {tool.name: tool for tool in tools}
        self._definitions = [tool.definition for tool in tools]

    async def list_tools(self) -> Sequence[Tool]:
        """Return the tools."""
        return self._definitions

    @property
    def known_tools(self) -> Sequence[Tool]:
        """The tools."""
        return self._definitions

    @property
    def status(self) -> ServerStatus:
        """The state, which never changes."""
        return ServerStatus("running", "the files of the workspace")

    def is_available(self, context: CallContext) -> bool:
        """Whether the client has workspace folders."""
        return bool(context.workspace.folders)

    async def preview(self, call: ToolCall) -> Preview:
        """Check a call and describe it; see the base class."""
        tool, file_call = await self._prepare(call)
        return await tool.preview(file_call)

    async def call(self, call: ToolCall) -> ToolOutput:
        """Run a call; see the base class."""
        tool, file_call = await self._prepare(call)
        return await tool.run(file_call)

    async def aclose(self) -> None:
        """Release the resources."""
        await self._resources.release()

    async def _prepare(self, call: ToolCall) -> tuple[FileTool[Any], FileCall[Any]]:
        tool = self._tools.get(call.tool)
        if tool is None:
            raise ToolError(f"There is no tool named {call.tool}.")
        arguments = parse_arguments(tool.arguments, call.arguments)
        locator = await use_disk(Locator, call.context.workspace.folders, self._own)
        return tool, FileCall(arguments, call.context, locator, call.max_bytes, call.approved)
