"""The commands of `jumpseat tools`: the daemon's tools, and the import of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_file
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import (
    HELP,
    config_option,
    daemon_options,
    json_option,
    overlay_option,
    run_async,
)
from jumpseat_cli.command_line.tool_options import complete_selector, read_selectors
from jumpseat_cli.daemon.rows import NO_SERVERS, describe_state
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import clean_line

COLUMNS = ("Tool", "Decision", "Tokens", "Description")


@click.group("tools", cls=ListByDefault, context_settings=HELP)
def tools() -> None:
    """List the tools that the daemon runs, or import MCP servers of other programs.

    Without a command, this is 'jumpseat tools list'. 'jumpseat chat --tools' lets a model use tools.

    \b
    Examples:
      jumpseat tools
      jumpseat tools list files
      jumpseat tools import
    """


@tools.command("list")
@click.argument(
    "selectors", nargs=-1, callback=read_selectors, shell_complete=complete_selector, metavar="[SELECTORS]..."
)
@click.option("--refresh", is_flag=True, help="Start the stopped servers to list their current tools.")
@overlay_option
@daemon_options
@json_option
@run_async
async def list_tools(
    selectors: list[str],
    refresh: bool,
    overlay: Mapping[str, Any] | None,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    """List the tools, or those that SELECTORS match, such as files or 'github/search_*'.

    Each row has the decision about a call (allow, ask or deny) and an estimate of the tokens that the tool's
    definition costs in each request. If a server is stopped, the tools that it had at its last start are
    listed.

    In a pipe, each line is a tool: name, decision, tokens and description, separated by tabs.

    \b
    Examples:
      jumpseat tools list
      jumpseat tools list files 'github/search_*'
      jumpseat tools list --refresh
      jumpseat tools list --json | jq -r '.tools[] | select(.decision == "ask") | .tool'

    Exit codes: 0 success; 1 no tools match SELECTORS; 2 wrong usage.
    """
    async with daemon(daemon_command, config=overlay) as client:
        listed = await client.list_tools(refresh=refresh)
    rows = _select(listed["tools"], selectors)
    code = FAILED if selectors and not rows else OK
    if as_json:
        print_json({**listed, "tools": rows})
        return code
    if rows:
        print_rows(COLUMNS, [_cells(row) for row in rows], stacks=True)
        tokens = sum(row["tokens"] for row in rows if row["decision"] != "deny")
        say(f"Their definitions cost about {tokens} tokens in each request.")
    chosen = {selector.partition("/")[0] for selector in selectors}
    servers = [row for row in listed["servers"] if not chosen or row["name"] in chosen]
    _explain(servers)
    if not listed["servers"]:
        say(NO_SERVERS)
    if code != OK:
        has_stopped = any(row["state"] == "stopped" for row in servers)
        # For stopped servers, `_explain` has already printed the next command.
        hint = None if has_stopped else "List all: jumpseat tools"
        print_failure(f"There are no tools that match {', '.join(selectors)}.", hint)
    return code


def _explain(servers: Sequence[Mapping[str, Any]]) -> None:
    """Print which servers are not running, and what to do about each."""
    for server in servers:
        if server["state"] not in ("running", "stopped"):
            say(clean_line(describe_state(server)))
    if stopped := [row["name"] for row in servers if row["state"] == "stopped"]:
        names = clean_line(" ".join(stopped))
        say(
            f"Stopped until a chat uses them: {names}. "
            f"To start them now: jumpseat tools list --refresh {names}"
        )


def _select(rows: Sequence[Mapping[str, Any]], selectors: Sequence[str]) -> list[Mapping[str, Any]]:
    if not selectors:
        return [*rows]
    from jumpseat.tools.selectors import Selector, matches_any

    parsed = [selector for text in selectors if (selector := Selector.parse(text)) is not None]
    return [row for row in rows if matches_any(parsed, row["server"], row["tool"])]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    about = str(row["description"]).strip().partition("\n")[0]
    return f"{row['server']}/{row['tool']}", str(row["decision"]), str(row["tokens"]), about


@tools.command("import")
@click.argument(
    "files",
    nargs=-1,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="[FILE]...",
    shell_complete=complete_file,
)
@config_option
@json_option
def import_tools(files: tuple[Path, ...], config: Path | None, as_json: bool) -> int:
    """Print the MCP servers of VS Code, Cursor and Claude Desktop as tables for the configuration file.

    Without FILE, this reads the files in which these programs keep your personal configuration. A FILE may be
    any file in one of their formats, such as a project's .vscode/mcp.json. The command does not change any
    file. Read the tables before you add them, because each of them makes jumpseat run a program or send data
    to a server.

    Secrets are not printed. In env and headers, 'env:NAME' is printed instead, and a comment says which
    variable to set. In arguments and addresses, *** is printed instead.

    \b
    Examples:
      jumpseat tools import
      jumpseat tools import .vscode/mcp.json
      jumpseat tools import ~/.claude.json > servers.toml
      jumpseat tools import --json | jq -r '.servers[].variables[]'

    Exit codes: 0 printed; 1 there are no servers, or a file cannot be read; 2 wrong usage.
    """
    from jumpseat_cli.configuration.mcp_import import import_servers

    return import_servers(files, config, as_json=as_json)
