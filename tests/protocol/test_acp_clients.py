"""Transcripts of other authors' editors, replayed to `jumpseat acp`.

The transcripts of CodeCompanion, avante and agent-shell were recorded. Those of Zed and JetBrains follow
public sources, which the transcripts name.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.acp import AcpAgent, running_agent
from tests.acp_transcripts import TRANSCRIPTS, Replay
from tests.copilot import configure, table
from tests.emulator import CopilotEmulator
from tests.hub import Hub

pytestmark = pytest.mark.slow

CONFIG = """
[providers.fake]
kind = "openai"
base_url = "{base_url}"
default_model = "m"
models = [{{ id = "m", max_context_tokens = 1000 }}, "n"]

[prompts.shout]
text = "SHOUT {{{{input}}}}"
"""

CHATS = "/v1/chat/completions"


def clients_with(scenario: str) -> list[str]:
    """Return the clients that have a transcript of this scenario."""
    return sorted(
        path.name.removesuffix(f"-{scenario}.txt") for path in TRANSCRIPTS.glob(f"*-{scenario}.txt")
    )


@pytest.fixture
async def replay(hub: Hub, upstream: FakeUpstream, tmp_path: Path) -> Replay:
    """Return a replay, whose agents have the upstream as their only provider."""
    (tmp_path / "file.txt").write_text("a file")
    (hub.home / "config.toml").write_text(CONFIG.format(base_url=upstream.base_url))
    upstream.default(Reply.events(completion_stream(["An answer."])), path=CHATS)

    def hold_answer(is_cancelled: bool) -> None:
        """Script an answer that does not end, if the client cancels this prompt."""
        if is_cancelled:
            upstream.script(Reply.events([*completion_stream(["Once upon"])[:2], Gate()]), path=CHATS)

    return Replay(lambda: running_agent(hub, tmp_path), on_prompt=hold_answer)


def requested_models(upstream: FakeUpstream) -> list[str]:
    """Return the models of the chats that reached the provider."""
    return [json.loads(each.body)["model"] for each in upstream.requests if each.method == "POST"]


def sent_texts(upstream: FakeUpstream) -> str:
    """Return the messages of the last request to the provider, as JSON text."""
    return json.dumps(json.loads(upstream.requests[-1].body)["messages"])


@pytest.mark.requirement("11:clients")
@pytest.mark.parametrize("client", clients_with("chat"))
async def test_an_editor_chats_cancels_and_chooses_a_model(
    replay: Replay, upstream: FakeUpstream, client: str
) -> None:
    ends = []
    replay.on_message = lambda message: ends.append((message.get("result") or {}).get("stopReason"))

    await replay.run(f"{client}-chat")

    assert requested_models(upstream)[:2] == ["m", "m"]
    assert requested_models(upstream)[-1] == "n"
    assert ends.count("cancelled") == 1
    assert ends.count("end_turn") >= 2


@pytest.mark.requirement("11:clients")
@pytest.mark.parametrize("client", clients_with("load"))
async def test_an_editor_loads_a_session_and_continues_it(
    replay: Replay, upstream: FakeUpstream, client: str
) -> None:
    await replay.run(f"{client}-chat")
    replay.kept, replay.received = replay.session, []

    await replay.run(f"{client}-load")

    assert "Once upon" in sent_texts(upstream)


@pytest.mark.requirement("11:clients")
@pytest.mark.parametrize("client", ["zed", "avante", "jetbrains"])
async def test_a_file_that_an_editor_attaches_reaches_the_model(
    replay: Replay, upstream: FakeUpstream, client: str
) -> None:
    await replay.run(f"{client}-chat")

    assert "a file" in sent_texts(upstream)


@pytest.fixture
async def emulator(home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        running.devices.interval = 0.05
        configure(home, table(running))
        yield running


@pytest.mark.requirement("11:clients", "11:sign-in")
@pytest.mark.parametrize("client", clients_with("sign-in"))
async def test_an_editor_signs_in(hub: Hub, emulator: CopilotEmulator, tmp_path: Path, client: str) -> None:
    (tmp_path / "file.txt").write_text("a file")
    approved = []

    def enter_code(message: dict[str, Any]) -> None:
        text = (message.get("error") or message.get("params") or {}).get("message", "")
        if code := re.search(r"code (\S+-\S+)", text):
            emulator.approve(code[1])
            approved.append(code[1])

    def start() -> Any:
        return running_agent(hub, tmp_path, env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""})

    async def wait_for_sign_in(agent: AcpAgent) -> None:
        assert (await agent.request("authenticate", {"methodId": "jumpseat"})).result == {}

    await Replay(start, on_message=enter_code, on_end=wait_for_sign_in).run(f"{client}-sign-in")

    assert len(approved) == 1
