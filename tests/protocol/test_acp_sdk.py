"""`jumpseat acp` with the clients of the official SDKs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.acp import ACP, SDK, provider_table
from tests.daemon import environment_of
from tests.hub import Hub

TYPESCRIPT_CLIENT = Path(__file__).parents[1] / "tools" / "acp" / "client.mjs"


def file_tool_call(tool: str, **arguments: Any) -> FakeCall:
    """Return a call of a file tool."""
    return FakeCall(tool, f"files__{tool}", [json.dumps(arguments)])


class RecordingClient:
    """A client of the SDK that records the updates."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.begun: Gate = Gate()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Record an update, and note when the first text arrives."""
        self.updates.append(update)
        if update.session_update == "agent_message_chunk":
            self.begun.open()

    def text(self) -> str:
        chunks = [each for each in self.updates if each.session_update == "agent_message_chunk"]
        return "".join(chunk.content.text for chunk in chunks)

    def on_connect(self, _: Any) -> None:
        """Ignore the connection, as a client without requests of its own does."""


@pytest.mark.requirement("11:prompt", "11:cancel", "11:sessions", "11:options")
async def test_a_client_of_the_python_sdk_chats_cancels_and_loads(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    from acp import PROTOCOL_VERSION, spawn_agent_process, text_block  # Deferred, like in tests/acp.py.

    chat = "/v1/chat/completions"
    upstream.script(Reply.events(completion_stream(["hel", "lo"])), path=chat)
    upstream.script(Reply.events([*completion_stream(["partial"])[:2], Gate()]), path=chat)
    (hub.home / "config.toml").write_text(provider_table(upstream.base_url))
    client, loader = RecordingClient(), RecordingClient()
    variables = {**os.environ, **environment_of(hub.home), "HOME": str(hub.home)}

    async with spawn_agent_process(client, *ACP, env=variables, cwd=tmp_path) as (agent, process):
        handshake = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        session = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
        await agent.set_config_option(config_id="model", session_id=session.session_id, value="fake:n")
        first = await agent.prompt(session_id=session.session_id, prompt=[text_block("hi")])
        answer = client.text()
        client.begun = Gate()
        second = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("more")]))
        async with asyncio.timeout(20):
            await client.begun.wait()
        await agent.cancel(session_id=session.session_id)
        cancelled = await second
    async with spawn_agent_process(loader, *ACP, env=variables, cwd=tmp_path) as (agent, process):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        listed = await agent.list_sessions()
        await agent.load_session(cwd=str(tmp_path), session_id=session.session_id, mcp_servers=[])

    assert process.returncode == 0
    assert handshake.agent_capabilities.load_session
    assert (first.stop_reason, answer) == ("end_turn", "hello")
    assert cancelled.stop_reason == "cancelled"
    assert [each.session_id for each in listed.sessions] == [session.session_id]
    assert loader.text() == "hellopartial"


@pytest.mark.requirement("11:prompt", "12:acp-calls", "12:acp-permission", "12:acp-files")
@pytest.mark.skipif(
    not SDK.is_dir() or shutil.which("node") is None, reason="npm ci --prefix tests/tools/acp was not run"
)
async def test_a_client_of_the_typescript_sdk_chats_and_allows_an_edit(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    file = tmp_path / "main.py"
    file.write_text("print('hello')\n")
    edit = {"path": "main.py", "oldText": "hello", "newText": "bye"}
    for call in (file_tool_call("read", path="main.py"), file_tool_call("edit", **edit)):
        upstream.script(Reply.events(completion_stream(tool_calls=[call])), path="/v1/chat/completions")
    upstream.script(Reply.events(completion_stream(["hel", "lo"])), path="/v1/chat/completions")
    (hub.home / "config.toml").write_text(provider_table(upstream.base_url))
    process = await asyncio.create_subprocess_exec(
        *("node", str(TYPESCRIPT_CLIENT), str(tmp_path), *ACP),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment_of(hub.home), "HOME": str(hub.home)},
    )
    async with asyncio.timeout(60):
        output, log = await process.communicate()

    assert process.returncode == 0, log.decode()
    received = json.loads(output)
    chunks = [each for each in received["updates"] if each["sessionUpdate"] == "agent_message_chunk"]
    assert "".join(chunk["content"]["text"] for chunk in chunks) == "hello"
    assert received["answer"] == {"stopReason": "end_turn"}
    assert [question["toolCall"]["title"] for question in received["questions"]] == ["Edit main.py"]
    assert file.read_text() == "print('bye')\n"
    ends = [each for each in received["updates"] if each.get("status") == "completed" and "content" in each]
    assert [part["type"] for part in ends[-1]["content"]] == ["diff", "content"]
    assert received["session"]["configOptions"][0]["currentValue"] == "fake:m"
