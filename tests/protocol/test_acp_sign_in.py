"""Signing in to Copilot through the Agent Client Protocol, with the emulator."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acp import ACP, AcpAgent, running_agent
from tests.copilot import configure, table
from tests.daemon import WAIT_SECONDS, environment_of
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


async def test_without_elicitation_only_the_first_request_opens_the_page(
    hub: Hub, emulator: CopilotEmulator, tmp_path: Path
) -> None:
    browser = f'{sys.executable} -c "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])" %s'
    async with running_agent(hub, tmp_path, env={"BROWSER": browser}) as agent:
        await agent.initialize()
        error = (await agent.request("authenticate", AUTHENTICATE)).error
        await emulator.wait_for("/login/device")
        second = agent.start("authenticate", AUTHENTICATE)
        emulator.approve(code_in(error["message"]))

        assert (await agent.read_until(second)).result == {}
    assert len(emulator.requests(path="/login/device")) == 1


async def test_a_failed_sign_in_is_reported_by_the_next_request(
    agent: AcpAgent, emulator: CopilotEmulator
) -> None:
    await agent.initialize()
    error = (await agent.request("authenticate", AUTHENTICATE)).error
    second = agent.start("authenticate", AUTHENTICATE)
    emulator.deny(code_in(error["message"]))
    denied = (await agent.read_until(second)).error
    third = (await agent.request("authenticate", AUTHENTICATE)).error

    assert denied["code"] == -32000
    assert "code" not in denied["message"]
    assert code_in(third["message"]) != code_in(error["message"])


async def test_the_terminal_method_signs_in_with_the_configuration_of_the_agent(
    hub: Hub, emulator: CopilotEmulator, tmp_path: Path
) -> None:
    config = tmp_path / "other.toml"
    (hub.home / "config.toml").rename(config)
    async with running_agent(hub, tmp_path) as agent:
        (terminal,) = [
            method
            for method in (await agent.initialize(auth={"terminal": True}))["authMethods"]
            if method.get("type") == "terminal"
        ]
    process = await asyncio.create_subprocess_exec(
        *(*ACP, "--config", str(config), *terminal["args"]),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **environment_of(hub.home), "HOME": str(hub.home)},
    )
    assert process.stdout is not None
    output = b""
    async with asyncio.timeout(WAIT_SECONDS):
        while (code := re.search(rb"\b[A-Z0-9]{4}-[A-Z0-9]{4}\b", output)) is None:
            line = await process.stdout.readline()
            assert line, output
            output += line
        emulator.approve(code[0].decode())
        await process.communicate()

    assert process.returncode == 0, output
    async with running_agent(hub, tmp_path, flags=("--config", str(config))) as agent:
        await agent.initialize()
        assert (await agent.request("authenticate", AUTHENTICATE)).result == {}
        session = await agent.new_session()
        assert (await agent.prompt(session, "Hello")).text() == "You said: Hello"
