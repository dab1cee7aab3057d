"""Signing in to Copilot through the Agent Client Protocol, with the emulator."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acp import AcpAgent, running_agent
from tests.copilot import configure, table
from tests.emulator import CopilotEmulator
from tests.hub import Hub

pytestmark = [pytest.mark.requirement("11:sign-in"), pytest.mark.slow]

AUTHENTICATE = {"methodId": "jumpseat"}


@pytest.fixture
async def emulator(home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        running.devices.interval = 0.05
        configure(home, table(running))
        yield running


@pytest.fixture
async def agent(hub: Hub, emulator: CopilotEmulator, tmp_path: Path) -> AsyncIterator[AcpAgent]:
    async with running_agent(
        hub, tmp_path, env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
    ) as running:
        yield running


def code_in(message: str) -> str:
    match = re.search(r"code (\S+)", message)
    assert match is not None, message
    return match[1]


async def test_a_client_with_elicitation_shows_the_page_and_the_code(
    agent: AcpAgent, emulator: CopilotEmulator
) -> None:
    await agent.initialize(elicitation={"url": {}})
    request = agent.start("authenticate", AUTHENTICATE)
    question = await agent.read_request("elicitation/create")
    agent.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
    emulator.approve(code_in(question["params"]["message"]))
    done = await agent.read_until(request)

    assert question["params"]["requestId"] == request
    assert question["params"]["url"] == f"{emulator.github_url}/login/device"
    assert done.result == {}
    (complete,) = [each for each in done.messages if each["method"] == "elicitation/complete"]
    assert complete["params"]["elicitationId"] == question["params"]["elicitationId"]
    session = await agent.new_session()
    assert (await agent.prompt(session, "Hello")).text() == "You said: Hello"


async def test_a_declined_elicitation_cancels_the_sign_in(agent: AcpAgent) -> None:
    await agent.initialize(elicitation={"url": {}})
    request = agent.start("authenticate", AUTHENTICATE)
    question = await agent.read_request("elicitation/create")
    agent.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})

    done = await agent.read_until(request)
    assert done.error["code"] == -32800
    assert done.messages == []


async def test_without_elicitation_the_code_is_in_an_error_and_the_next_request_waits(
    agent: AcpAgent, emulator: CopilotEmulator
) -> None:
    await agent.initialize()
    error = (await agent.request("authenticate", AUTHENTICATE)).error
    second = agent.start("authenticate", AUTHENTICATE)
    emulator.approve(code_in(error["message"]))

    assert error["code"] == -32000
    assert f"{emulator.github_url}/login/device" in error["message"]
    assert (await agent.read_until(second)).result == {}
    assert (await agent.request("logout", {})).result == {}
    params = {"cwd": str(agent.directory), "mcpServers": []}
    assert (await agent.request("session/new", params)).error["code"] == -32000
