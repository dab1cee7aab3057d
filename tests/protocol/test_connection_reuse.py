"""Consecutive chats share a connection to the provider, whatever marks the end of an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing import (
    AnthropicMessagesScript,
    ChatCompletionsScript,
    OllamaChatScript,
    ResponsesScript,
    Script,
)
from jumpseat.testing.upstream import FakeUpstream
from tests.daemon import Daemon, running_daemon, user
from tests.fakes.tls_front import Authority, TlsFront

CHATS = 100

FEW = 3
"""The number of connections that are allowed.

The next chat needs a new connection if it starts before the daemon has read the bytes after the end marker.
"""

DIALECTS: dict[str, Script] = {
    "openai": ChatCompletionsScript(),
    "openai-responses": ResponsesScript(),
    "anthropic": AnthropicMessagesScript(),
    "ollama": OllamaChatScript(),
}


def table(kind: str, origin: str) -> dict[str, Any]:
    base_url = f"{origin}{DIALECTS[kind].base_path}"
    return {"kind": kind, "base_url": base_url, "api_key": "literal", "default_model": "m"}


async def run_chats(daemon: Daemon, chats: int) -> None:
    for _ in range(chats):
        exchange = await daemon.request("chat/start", {"messages": [user("hi")], "stream": True})
        assert exchange.result["text"] == "Hello"


@pytest.mark.requirement("7:reuse")
@pytest.mark.parametrize("kind", DIALECTS)
async def test_consecutive_chats_share_a_connection(
    daemon: Daemon, upstream: FakeUpstream, kind: str
) -> None:
    script = DIALECTS[kind]
    script.prepare(upstream, ["m"])
    upstream.default(script.text_answer(["Hel", "lo"], streamed=True), path=script.chat_path)
    await daemon.initialize({"providers": {"fake": table(kind, upstream.origin)}})
    await run_chats(daemon, CHATS)
    assert upstream.accepted <= FEW


@pytest.mark.requirement("7:reuse")
async def test_consecutive_chats_share_a_tls_handshake(tmp_path: Path, upstream: FakeUpstream) -> None:
    script = DIALECTS["openai"]
    upstream.default(script.text_answer(["Hel", "lo"], streamed=True), path=script.chat_path)
    authority = Authority(tmp_path / "tls")
    async with (
        TlsFront(authority.server("localhost"), upstream.origin) as front,
        running_daemon(tmp_path, env={"SSL_CERT_FILE": str(authority.file)}) as daemon,
    ):
        configured = table("openai", f"https://localhost:{front.port}")
        await daemon.initialize({"providers": {"fake": configured}})
        await run_chats(daemon, 20)
        assert len(front.peers) <= FEW
