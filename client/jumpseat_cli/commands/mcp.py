"""The commands of `jumpseat mcp`: the MCP servers of the configuration."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from jumpseat_cli.command_line.completion import make_completion, match_prefix
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, overlay_option, run_async
from jumpseat_cli.daemon.rows import NO_SERVERS, describe_state, is_mcp_server
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.daemon.sign_in import MCP_PREFIX, log_in
from jumpseat_cli.terminal.failures import FAILED, OK, USAGE, print_failure, print_json, say
from jumpseat_cli.terminal.questions import confirm
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.client import Client

ADD_OVERLAY = "If a workspace defines it, add --overlay FILE."
COLUMNS = ("Server", "State", "Origin", "Definition", "Error")


async def _find_servers(client: Client, incomplete: str) -> list[CompletionItem]:
    rows = filter(is_mcp_server, (await client.list_tools())["servers"])
    return match_prefix(incomplete, ((row["name"], f"{row['state']}: {row['definition']}") for row in rows))


complete_server = make_completion(_find_servers)
server_argument = click.argument("server", shell_complete=complete_server)


@click.group("mcp", cls=ListByDefault, context_settings=HELP)
def mcp() -> None:
    """List, restart, trust and sign in to MCP servers.

    Each table [mcp.NAME] of the configuration file is a server. Without a command, this is 'jumpseat mcp
    list'. 'jumpseat tools' lists the tools of the servers.

    \b
    Examples:
      jumpseat mcp
      jumpseat mcp restart db
      jumpseat mcp login github
    """


@mcp.command("list")
@overlay_option
@daemon_options
@json_option
@run_async
async def list_servers(overlay: Mapping[str, Any] | None, daemon_command: list[str], as_json: bool) -> int:
    """List the servers with their state and their definition, without starting them.

    In a pipe, each line is a server: name, state, origin, definition and error, separated by tabs.

    \b
    Examples:
      jumpseat mcp list
      jumpseat mcp list --json | jq -r '.servers[] | select(.state == "failed") | .error'
    """
    async with daemon(daemon_command, config=overlay) as client:
        servers = (await client.list_tools())["servers"]
    rows = [*filter(is_mcp_server, servers)]
    if as_json:
        print_json({"servers": rows})
    elif rows:
        cells = [[str(row.get(title.lower()) or "") for title in ("Name", *COLUMNS[1:])] for row in rows]
        print_rows(COLUMNS, cells, stacks=True)
    else:
        say(NO_SERVERS)
    return OK


@mcp.command("restart")
@server_argument
@overlay_option
@daemon_options
@json_option
@run_async
async def restart(
    server: str, overlay: Mapping[str, Any] | None, daemon_command: list[str], as_json: bool
) -> int:
    """Start or restart SERVER.

    After too many failures, the daemon waits for some time before it starts a server again. This command
    starts the server immediately.

    \b
    Examples:
      jumpseat mcp restart db

    Exit codes: 0 it runs; 1 it does not run, or there is no such server; 2 wrong usage.
    """
    async with daemon(daemon_command, config=overlay) as client:
        if await _find_row(client, server) is None:
            return FAILED
        row = await client.restart_mcp_server(server)
    return _report(row, as_json=as_json)


@mcp.command("trust")
@server_argument
@click.option("-y", "--yes", is_flag=True, help="Trust it without asking.")
@click.option("--withdraw", is_flag=True, help="Withdraw your trust in it.")
@overlay_option
@daemon_options
@json_option
@run_async
async def trust(
    server: str,
    yes: bool,
    withdraw: bool,
    overlay: Mapping[str, Any] | None,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    """Show the definition of a workspace's SERVER, and ask whether to trust it.

    Servers in your own configuration file do not need trust. A server that a workspace defines, in the file
    given with --overlay, starts only after you have trusted its definition for the working directory. If the
    definition changes, the server is untrusted again. Without a terminal, --yes is required.

    \b
    Examples:
      jumpseat mcp trust --overlay project.toml db
      jumpseat mcp trust --overlay project.toml --withdraw db

    Exit codes: 0 trusted, or trust withdrawn; 1 you answered no, there is no such server, or it needs no
    trust; 2 wrong usage.
    """
    async with daemon(daemon_command, config=overlay) as client:
        row = await _find_row(client, server, "" if overlay else ADD_OVERLAY)
        if row is None:
            return FAILED
        if row["origin"] != "workspace":
            return print_failure(f"{server} needs no trust: your own configuration defines it.")
        if not withdraw and not yes:
            say(clean_line(f"{server} runs: {row['definition']}"))
            if not sys.stdin.isatty():
                print_failure("Without a terminal, jumpseat cannot ask.", "Add --yes if you trust it.")
                return USAGE
            if await confirm("Do you trust it?") != OK:
                return FAILED
        row = await client.trust_mcp_server(server, row["fingerprint"], trusted=not withdraw)
    if as_json:
        print_json(row)
    else:
        say(clean_line(f"{server} is no longer trusted." if withdraw else f"{server} is trusted."))
    return OK


@mcp.command("login")
@server_argument
@click.option(
    "--browser/--no-browser", default=None, help="Open the page in a browser; by default only on a terminal."
)
@click.option("--again", is_flag=True, help="Sign in even if you are signed in.")
@overlay_option
@daemon_options
@json_option
@run_async
async def login(
    server: str,
    browser: bool | None,
    again: bool,
    overlay: Mapping[str, Any] | None,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    """Sign in to SERVER in a browser.

    Shows the address of a page, and waits until you have signed in there. The token is used only for this
    server. To sign out: jumpseat logout mcp:SERVER.

    \b
    Examples:
      jumpseat mcp login github
      jumpseat mcp login --again github
    """
    async with daemon(daemon_command, config=overlay) as client:
        if await _find_row(client, server) is None:
            return FAILED
    return await log_in(
        provider=f"{MCP_PREFIX}{server}",
        browser=sys.stderr.isatty() if browser is None else browser,
        again=again,
        asks=sys.stdin.isatty() and not as_json,
        daemon_command=daemon_command,
        overlay=overlay,
        as_json=as_json,
    )


async def _find_row(client: Client, server: str, more: str = "") -> Mapping[str, Any] | None:
    """Return the row of a server. If there is none, print an error, with `more` as part of its hint."""
    from difflib import get_close_matches

    rows = {row["name"]: row for row in (await client.list_tools())["servers"] if is_mcp_server(row)}
    if server not in rows:
        near = [f"Did you mean {each}?" for each in get_close_matches(server, rows, 1)]
        hint = " ".join(filter(None, [*near, more])) or "List them: jumpseat mcp"
        print_failure(f"There is no MCP server {server}.", hint)
    return rows.get(server)


def _report(row: Mapping[str, Any], *, as_json: bool) -> int:
    is_running = row.get("state") == "running"
    if as_json:
        print_json(row)
    elif is_running:
        say(clean_line(describe_state(row)))
    else:
        print_failure(clean_line(describe_state(row)))
    return OK if is_running else FAILED
