"""Creates the servers of a client's configuration. A server is replaced if its definition changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jumpseat.config import Config
from jumpseat.tools.mcp.definition import Definition
from jumpseat.tools.mcp.server import McpServer
from jumpseat.tools.server import ServerStatus, ServerUnavailableError, Tool, ToolCall, ToolOutput, ToolServer


class FaultyServer(ToolServer):
    """A server whose table in the configuration has a fault."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(name, "user")
        self._fault = fault

    @property
    def status(self) -> ServerStatus:
        """A failed state with the fault as its error."""
        return ServerStatus("failed", "", error=self._fault)

    async def list_tools(self) -> list[Tool]:
        """Raise an error with the fault."""
        raise ServerUnavailableError(self._fault)

    async def call(self, call: ToolCall) -> ToolOutput:
        """Never called, because there are no tools."""
        raise NotImplementedError


def create_servers(
    config: Config, folder: Path | None, current: Mapping[str, ToolServer]
) -> dict[str, ToolServer]:
    """Return the servers of a configuration by name. A server with an unchanged definition is used again.

    Args:
        config: the client's configuration.
        folder: the first workspace folder of the client.
        current: the servers of the previous configuration, by name.
    """
    servers: dict[str, ToolServer] = {}
    for name, table in config.mcp.items():
        definition, server = Definition(name, table, folder), current.get(name)
        is_same = isinstance(server, McpServer) and server.definition == definition
        servers[name] = server if server and is_same else McpServer(definition, config.environment)
    for name, faults in config.faults_of_mcp.items():
        servers[name] = FaultyServer(name, " ".join(f"{fault}." for fault in faults))
    return servers
