"""`providers/diagnose`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.copilot import configure, copilot_daemon, table
from tests.daemon import Daemon
from tests.emulator import CopilotEmulator

pytestmark = [pytest.mark.usefixtures("no_proxies"), pytest.mark.requirement("5:diagnose")]


async def diagnose(daemon: Daemon, provider: str) -> list[Any]:
    checks: list[Any] = (await daemon.request("providers/diagnose", {"provider": provider})).result["checks"]
    assert all({"name", "ok", "message"} <= check.keys() for check in checks)
    return checks


async def test_a_provider_is_checked_without_showing_secrets(daemon: Daemon, upstream: FakeUpstream) -> None:
    upstream.default(Reply.json({"data": [{"id": "m"}]}))
    row = {"kind": "openai", "base_url": upstream.base_url, "api_key": "canary-key-12345"}
    await daemon.initialize({"providers": {"acme": row}})
    checks = await diagnose(daemon, "acme")

    # `ok` is null, not absent, for a check that was not made.
    assert {check["name"]: check["ok"] for check in checks} == {
        "configuration": True,
        "credential": None,
        "proxy": True,
        "connection": True,
        "signIn": True,
    }
    assert "canary" not in json.dumps(checks)


async def test_all_three_hosts_of_copilot_are_checked(home: Path, emulator: CopilotEmulator) -> None:
    configure(home, table(emulator, github_token=emulator.issue_token()))
    async with copilot_daemon(home) as daemon:
        checks = await diagnose(daemon, "copilot")

    assert [check["ok"] for check in checks if check["name"] == "connection"] == [True] * 3
    (sign_in,) = [check for check in checks if check["name"] == "signIn"]
    assert sign_in["ok"] is True
    assert "octocat" in sign_in["message"]


async def test_an_unknown_provider_is_1004(daemon: Daemon) -> None:
    await daemon.initialize()
    assert (await daemon.request("providers/diagnose", {"provider": "nope"})).error["code"] == 1004
