"""The Agent Client Protocol, line by line: the handshake, sign-ins and sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

import jumpseat
from jumpseat.testing.upstream import FakeUpstream
from tests.acp import AcpAgent, provider_table, running_agent, script_answers
from tests.hub import Hub


@pytest.mark.requirement("11:handshake")
async def test_the_handshake_offers_sessions_context_and_a_sign_in(hub: Hub, tmp_path: Path) -> None:
    async with running_agent(hub, tmp_path) as agent:
        result = await agent.initialize()

        assert await agent.exit_code() == 0
    assert result["protocolVersion"] == 1
    assert result["agentInfo"]["version"] == jumpseat.__version__
    assert result["agentCapabilities"]["loadSession"] is True
    assert result["agentCapabilities"]["promptCapabilities"]["embeddedContext"] is True
    assert [method["id"] for method in result["authMethods"]] == ["jumpseat"]


@pytest.mark.requirement("11:handshake")
async def test_a_terminal_sign_in_is_offered_only_to_clients_with_a_terminal(
    hub: Hub, tmp_path: Path
) -> None:
    async with running_agent(hub, tmp_path) as agent:
        result = await agent.initialize(auth={"terminal": True})

    assert result["authMethods"][1]["type"] == "terminal"
    assert result["authMethods"][1]["args"] == ["--login"]


@pytest.mark.requirement("11:malformed")
@pytest.mark.parametrize(
    ("line", "code", "id_"),
    [
        (b"garbage", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b'{"jsonrpc":"2.0","id":7', -32700, None),
        (b"Content-Length: 2", -32700, None),
        (b"[]", -32600, None),
        (b'"text"', -32600, None),
        (b'{"id":7,"method":"session/list"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"nope"}', -32601, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":[1]}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"x"}}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":' + b"[" * 700 + b"]" * 700 + b"}", -32600, 7),
    ],
)
async def test_an_invalid_line_is_answered_and_the_next_one_works(
    agent: AcpAgent, line: bytes, code: int, id_: int | None
) -> None:
    agent.send_bytes(line + b"\n\r\n\n")
    response = await agent.read()

    assert (response["id"], response["error"]["code"]) == (id_, code)
    assert (await agent.request("session/list", {})).result == {"sessions": []}


@pytest.mark.requirement("11:malformed")
async def test_a_request_before_the_handshake_is_refused(hub: Hub, tmp_path: Path) -> None:
    async with running_agent(hub, tmp_path) as agent:
        assert (await agent.request("session/list", {})).error["code"] == -32600
        assert (await agent.initialize())["protocolVersion"] == 1


@pytest.mark.requirement("11:handshake")
async def test_requests_may_follow_the_handshake_without_waiting(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    async with running_agent(hub, tmp_path, config=provider_table(upstream.base_url)) as agent:
        first = agent.start("initialize", {"protocolVersion": 1})
        second = agent.start("session/new", {"cwd": str(tmp_path), "mcpServers": []})

        assert (await agent.read_until(first)).result["protocolVersion"] == 1
        assert (await agent.read_until(second)).result["sessionId"]


@pytest.mark.requirement("11:errors")
async def test_an_unknown_session_is_not_found(agent: AcpAgent) -> None:
    assert (await agent.prompt("nobody", "hi")).error["code"] == -32002
    params = {"sessionId": "nobody", "cwd": "/", "mcpServers": []}
    assert (await agent.request("session/load", params)).error["code"] == -32002


@pytest.mark.requirement("11:sessions")
async def test_sessions_are_listed_by_directory_and_deleted(
    agent: AcpAgent, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "one", "two")
    other = tmp_path / "other"
    other.mkdir()
    here, there = await agent.new_session(), await agent.new_session(cwd=str(other))
    await agent.prompt(here, "here")
    await agent.prompt(there, "there")

    everywhere = (await agent.request("session/list", {})).result["sessions"]
    only_there = (await agent.request("session/list", {"cwd": str(other)})).result["sessions"]
    deleted = await agent.request("session/delete", {"sessionId": there})
    after = (await agent.request("session/list", {})).result["sessions"]

    assert [row["sessionId"] for row in everywhere] == [there, here]
    assert [(row["sessionId"], row["title"], row["cwd"]) for row in only_there] == [
        (there, "there", str(other))
    ]
    assert deleted.result == {}
    assert [row["sessionId"] for row in after] == [here]
    assert (await agent.prompt(there, "hi")).error["code"] == -32002


@pytest.mark.requirement("11:sessions")
async def test_sessions_are_not_offered_if_conversations_are_not_kept(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "one")
    config = "[conversations]\nkeep = false\n" + provider_table(upstream.base_url)
    async with running_agent(hub, tmp_path, config=config) as agent:
        capabilities = (await agent.initialize())["agentCapabilities"]
        session = await agent.new_session()

        assert (await agent.prompt(session, "hi")).text() == "one"
        assert (await agent.request("session/list", {})).error["code"] == -32601
    assert capabilities["loadSession"] is False
    assert "list" not in capabilities["sessionCapabilities"]


@pytest.mark.requirement("11:shared")
async def test_the_agent_is_a_client_of_the_shared_daemon(hub: Hub, agent: AcpAgent) -> None:
    status = await hub.status()

    assert [client["name"] for client in status["clients"]] == ["tests"]
    assert await agent.exit_code() == 0


@pytest.mark.requirement("11:shared")
async def test_the_agent_serves_its_client_if_sharing_is_not_possible(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "alone")
    (hub.home / "daemon").write_text("not a directory")
    async with running_agent(hub, tmp_path, config=provider_table(upstream.base_url)) as agent:
        await agent.initialize()
        session = await agent.new_session()

        assert (await agent.prompt(session, "hi")).text() == "alone"
        assert await agent.exit_code() == 0


@pytest.mark.requirement("11:sign-in")
async def test_a_session_needs_a_provider_that_is_ready(hub: Hub, tmp_path: Path) -> None:
    async with running_agent(hub, tmp_path) as agent:
        await agent.initialize()
        params = {"cwd": str(tmp_path), "mcpServers": []}

        assert (await agent.request("session/new", params)).error["code"] == -32000


@pytest.mark.requirement("11:sign-in")
async def test_signing_in_is_immediate_if_any_provider_is_ready(agent: AcpAgent) -> None:
    assert (await agent.request("authenticate", {"methodId": "jumpseat"})).result == {}
    assert (await agent.request("authenticate", {"methodId": "nope"})).error["code"] == -32602
