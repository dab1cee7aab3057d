"""The MCP servers that the client defines for a conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from jumpseat.acp.client import AcpClient
from jumpseat.acp.params import ServerParam, StdioServerParam
from jumpseat.chat import InvalidRequestError
from jumpseat.config.mcp import McpServerConfig
from jumpseat.config.schema import TableOrigin
from jumpseat.config.table_names import BUILT_IN_SERVER
from jumpseat.tools.mcp.definition import Definition
from jumpseat.tools.mcp.server import McpServer
from jumpseat.tools.server import ToolServer

_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_.-]")
"""Matches characters that a selector cannot contain. The protocol's names may contain any characters."""

MAX_NAME = 64


def create_servers(client: AcpClient, servers: Sequence[ServerParam]) -> dict[str, ToolServer]:
    """Return the servers of a conversation by name. No server is started before a prompt.

    Raises:
        InvalidRequestError: a definition is not valid, or its name is empty or taken.
    """
    definitions: dict[str, Definition] = {}
    for index, server in enumerate(servers):
        name = _NOT_ALLOWED.sub("_", server.name)[:MAX_NAME]
        if not name or name == BUILT_IN_SERVER:
            raise InvalidRequestError.at(f"mcpServers.{index}.name", f"must not be {name!r}")
        if name in definitions:
            raise InvalidRequestError.at(f"mcpServers.{index}.name", f"is {name!r} for another server too")
        try:
            table = McpServerConfig.model_validate(_to_table(server))
        except ValidationError as error:
            problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
            path = ".".join(map(str, ("mcpServers", index, *problem["loc"])))
            raise InvalidRequestError.at(path, problem["msg"]) from None
        table.note_origin(TableOrigin(environment=client.environment))
        definitions[name] = Definition(name, table, None, is_literal=True)
    return {name: McpServer(each, client.environment) for name, each in definitions.items()}


def _to_table(server: ServerParam) -> dict[str, Any]:
    """Convert the params of a server to an equivalent table `[mcp.NAME]`."""
    if isinstance(server, StdioServerParam):
        variables = {each.name: each.value for each in server.env}
        # Arguments may be paths relative to the project's directory, where editors start such programs. The
        # scope `workspace` makes the daemon do the same.
        return {"command": [server.command, *server.args], "env": variables, "scope": "workspace"}
    return {"url": server.url, "headers": {each.name: each.value for each in server.headers}}
