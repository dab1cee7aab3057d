"""`jumpseat tools import`: prints the MCP servers of other programs as TOML."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from jumpseat.config.editing import ConfigurationFile
from jumpseat.system.environment import environment_of_process
from jumpseat_cli.configuration.mcp_files import ForeignServer, find_usual_files, read_servers
from jumpseat_cli.configuration.mcp_tables import McpTable, convert_server
from jumpseat_cli.configuration.reporting import report_failures
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_cli.terminal.output import print_text

BUILT_IN = frozenset({"files"})
"""Names of servers that a configuration cannot define."""


@report_failures
def import_servers(files: Collection[Path], config: Path | None, *, as_json: bool) -> int:
    """Print the tables for the servers in these files, or in the usual files; return the exit code.

    Args:
        files: the files to read; if there are none, the user's files of VS Code, Cursor and Claude Desktop.
        config: the configuration file; None for the default one. Servers that it defines are left out.
        as_json: whether to print the tables and their comments as JSON.
    """
    chosen = [*files] or find_usual_files()
    if not chosen:
        return print_failure(
            "VS Code, Cursor and Claude Desktop have no files with MCP servers here.",
            "Name a file: jumpseat tools import .vscode/mcp.json",
        )
    servers = [server for file in chosen for server in read_servers(file)]
    if not servers:
        return print_failure(f"There are no MCP servers in {', '.join(map(str, chosen))}.")
    path = config or environment_of_process().places.config_file
    existing = ConfigurationFile(path).tables.get("mcp")
    tables = _convert(servers, existing if isinstance(existing, Mapping) else {})
    if as_json:
        print_json({"servers": [table.as_dict() for table in tables]})
    else:
        print_text("\n".join(table.as_toml() for table in tables))
        _report(tables, path)
    return OK if any(table.values for table in tables) else FAILED


def _convert(servers: Collection[ForeignServer], existing: Mapping[str, object]) -> list[McpTable]:
    tables: list[McpTable] = []
    seen: list[Mapping[str, object]] = []
    for server in servers:
        if server.entry in seen:
            continue  # Another program has the same entry.
        seen.append(server.entry)
        base = re.sub(r"[^A-Za-z0-9_-]+", "-", server.name).strip("-") or "server"
        if base in existing:
            comment = f"{base}, from {server.file}, is already in your configuration, so it was left out."
            tables.append(McpTable(base, comments=[comment]))
            continue
        name, number = base, 1
        while name in BUILT_IN or any(table.name == name for table in tables):
            number += 1
            name = f"{base}-{number}"
        tables.append(convert_server(server, name))
    return tables


def _report(tables: Collection[McpTable], path: Path) -> None:
    """Say on stderr what to do with the printed tables."""
    names = [table.name for table in tables if table.values]
    if not names:
        return
    if sys.stdout.isatty():
        say(f"To use {'this server' if len(names) == 1 else 'these servers'}, add the tables to {path}.")
    variables = list(dict.fromkeys(variable for table in tables for variable in table.variables))
    if variables:
        say(f"Set these environment variables, or use other value sources: {', '.join(variables)}.")
    say(f"Then: jumpseat tools list --refresh {' '.join(names)}")
