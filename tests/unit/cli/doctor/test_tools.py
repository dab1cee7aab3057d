"""The checks of `jumpseat doctor` for tool servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat_cli.doctor.tools import check_tools
from jumpseat_client import Client
from tests.fakes.scenario import Scenario
from tests.unit.cli.commands.test_tools import LISTED, server

pytestmark = pytest.mark.timeout(60)


async def check(folder: Path, listed: Any) -> list[tuple[str, bool | None, str, str | None]] | None:
    """Return the name, outcome, message and hint of each check; None if there is no section."""
    scenario = Scenario(folder, answers={"tools/list": listed})
    async with Client.spawn(scenario.command) as client:
        section = await check_tools(client)
    assert scenario.read_messages("tools/list")[0]["params"] == {"refresh": True}
    return section and [(each.name, each.ok, each.message, each.hint) for each in section.checks]


async def test_each_configured_server_is_started_and_checked(tmp_path: Path) -> None:
    own = [row for row in LISTED["servers"] if row["origin"] != "workspace"]

    assert await check(tmp_path, {**LISTED, "servers": own}) == [
        ("db", True, "db (run db) has 1 tool, about 50 tokens in a request.", None),
        (
            "web",
            False,
            "web has failed: It ended with code 1.\nOops",
            "After correcting the cause, run: jumpseat mcp restart web",
        ),
        ("idle", True, "idle (run idle) has 0 tools, about 0 tokens in a request.", None),
        ("mail", False, "mail needs a sign-in.", "Run: jumpseat mcp login mail"),
    ]


@pytest.mark.parametrize("servers", [[], [server("files", origin="builtin")]])
async def test_built_in_servers_that_run_are_not_mentioned(tmp_path: Path, servers: list[Any]) -> None:
    assert await check(tmp_path, {"tools": [], "servers": servers}) is None


async def test_a_built_in_server_that_fails_is_a_problem(tmp_path: Path) -> None:
    failed = server("files", "failed", "builtin", error="No.")
    found = await check(tmp_path, {"tools": [], "servers": [failed]})
    assert found is not None
    assert [(name, ok) for name, ok, _, _ in found] == [("files", False)]


async def test_a_list_that_fails_is_a_problem(tmp_path: Path) -> None:
    found = await check(tmp_path, {"error": {"code": -32603, "message": "Broken."}})
    assert found == [("tools", False, "Broken.", None)]
