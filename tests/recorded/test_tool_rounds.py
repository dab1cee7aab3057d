"""Recorded answers with tool calls, replayed as the first round of a turn with tools of the daemon.

The turn does not offer the recorded tools, so each call gets an error result, and the daemon sends the next
request. The recordings are next to the repository. If they are missing, the tests are skipped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from jumpseat.chat import ToolResultBlock, ToolUseBlock
from jumpseat.testing import AnthropicMessagesScript, ChatCompletionsScript, OllamaChatScript, ResponsesScript
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, running_daemon, user
from tests.fakes import tool_plugin
from tests.recorded.asked import request_of
from tests.recorded.recordings import TRANSCRIPTS, Recording, recordings
from tests.recorded.test_through_the_daemon import DIALECTS

pytestmark = pytest.mark.slow

SCRIPTS = {
    "openai": ChatCompletionsScript(),
    "openai-responses": ResponsesScript(),
    "anthropic": AnthropicMessagesScript(),
    "ollama": OllamaChatScript(),
}

CASES = [
    pytest.param(kind, each, id=f"{kind}-{each.name}")
    for kind, dialect in DIALECTS.items()
    for each in recordings(dialect.api)
    if not each.fails and each.expected.get("tool_calls")
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[FakeUpstream]:
    """Start the fake provider of all dialects."""
    async with FakeUpstream() as running:
        running.default(Reply.json({"error": {"message": "not recorded"}}, 404))
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def daemon(server: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """Start one daemon for all recordings, with one provider for each kind and tools of a plug-in."""
    tables = {
        kind: {"kind": kind, "base_url": f"{server.origin}{dialect.base_path}", "max_retries": 0}
        for kind, dialect in DIALECTS.items()
    }
    home: Path = tmp_path_factory.mktemp("home")
    async with running_daemon(home, env=tool_plugin.install(home / "site")) as daemon:
        await daemon.initialize({"providers": tables})
        yield daemon


@pytest.mark.skipif(not CASES, reason=f"no recordings at {TRANSCRIPTS}")
@pytest.mark.requirement("12:rounds-split", "12:unreadable-call")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("kind", "recording"), CASES)
async def test_the_calls_of_a_recorded_answer_and_their_results_are_sent_in_the_next_round(
    server: FakeUpstream, daemon: Daemon, kind: str, recording: Recording
) -> None:
    path = DIALECTS[kind].path
    headers = {**recording.headers, "content-type": recording.content_type}
    server.script(Reply((recording.body,), recording.status, headers, chunked=recording.streamed), path=path)
    server.script(SCRIPTS[kind].text_answer(["Done."], streamed=recording.streamed), path=path)
    exchange = await daemon.request(
        "chat/start",
        {
            "messages": [user("Hi")],
            "model": f"{kind}:{recording.model}",
            "stream": recording.streamed,
            "daemonTools": ["shed/*"],
        },
    )

    result = exchange.result
    calls = [block["id"] for block in result["content"] if block["type"] == "tool_use"]
    results = [block["toolUseId"] for block in result["content"] if block["type"] == "tool_result"]
    assert calls
    assert results == calls
    assert (result["rounds"], result["stopReason"], result["toolCalls"]) == (2, "end_turn", [])
    assert result["text"].endswith("Done.")
    sent = request_of(server.requests[-1].json)
    blocks = [block for message in sent.messages for block in message.content]
    assert len([block for block in blocks if isinstance(block, ToolUseBlock)]) == len(calls)
    assert len([block for block in blocks if isinstance(block, ToolResultBlock)]) == len(calls)
