"""Checks the tool servers through the daemon, which starts those that are stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.chat import Check
from jumpseat_cli.daemon.rows import describe_state, is_mcp_server
from jumpseat_cli.doctor.report import ReportSection
from jumpseat_client import Client, ClientError

START_SECONDS = 60.0
"""The limit for starting all servers.

In addition, the configuration limits the start of each MCP server, by default to 30 s.
"""


async def check_tools(client: Client) -> ReportSection | None:
    """Start all servers, then check every MCP server, and any other server that is not running.

    Return None if there is nothing to check.
    """
    try:
        listed = await client.request("tools/list", {"refresh": True}, timeout=START_SECONDS)
    except ClientError as error:
        return ReportSection("Tools", [Check("tools", False, str(error), error.hint)])
    servers = (each for each in listed["servers"] if is_mcp_server(each) or each["state"] != "running")
    checks = [_check_server(server, listed["tools"]) for server in servers]
    return ReportSection("Tools", checks) if checks else None


def _check_server(server: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> Check:
    name, state = str(server["name"]), server["state"]
    if state == "failed":
        hint = f"After correcting the cause, run: jumpseat mcp restart {name}"
        return Check(name, False, describe_state(server), hint)
    if state == "needs_sign_in":
        return Check(name, False, f"{name} needs a sign-in.", f"Run: jumpseat mcp login {name}")
    own = [tool for tool in tools if tool["server"] == name]
    number = "1 tool" if len(own) == 1 else f"{len(own)} tools"
    tokens = sum(tool["tokens"] for tool in own)
    return Check(
        name, True, f"{name} ({server['definition']}) has {number}, about {tokens} tokens in a request."
    )
