"""Checks the emulator against GitHub's own client, the Copilot language server."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jumpseat.wire import Peer
from tests.e2e.language_server_harness import WAIT_SECONDS, environment, program
from tests.emulator import CopilotEmulator, faults
from tests.fakes.loopback_proxy import LoopbackProxy

pytestmark = pytest.mark.slow


@dataclass
class LanguageServer:
    """The running program and its messages."""

    peer: Peer
    progress: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """The token and the value of each `$/progress` notification, in order."""

    async def request(self, method: str, params: Any) -> Any:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.peer.request(method, params)

    def reports(self, token: str) -> list[dict[str, Any]]:
        """Return the values that were reported for a token, in order."""
        return [value for name, value in self.progress if name == token]

    def record_progress(self, method: str, params: Any) -> None:
        if method == "$/progress":
            self.progress.append((params["token"], params["value"]))


async def answer_request(method: str, params: Any) -> Any:
    """Answer the requests that the program sends to an editor."""
    return [{}, None] if method == "conversation/context" else None


@contextlib.asynccontextmanager
async def language_server(emulator: CopilotEmulator, home: Path) -> AsyncIterator[LanguageServer]:
    """Run the program, initialized and signed in as octocat through its environment variables."""
    async with LoopbackProxy() as proxy, _running(emulator, home, proxy.url) as server:
        yield server


@contextlib.asynccontextmanager
async def _running(emulator: CopilotEmulator, home: Path, proxy: str) -> AsyncIterator[LanguageServer]:
    process = await asyncio.create_subprocess_exec(
        program(),
        "--stdio",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | environment(home, proxy, emulator),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    created: list[LanguageServer] = []
    peer = Peer(
        process.stdin.write,
        on_notification=lambda method, params: created[0].record_progress(method, params),
        on_request=answer_request,
    )
    created.append(LanguageServer(peer))
    pump = asyncio.ensure_future(_pump(process.stdout, peer))
    try:
        await created[0].request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": None,
                "workspaceFolders": [],
                "capabilities": {},
                "initializationOptions": {
                    "editorInfo": {"name": "Neovim", "version": "0.11.0"},
                    "editorPluginInfo": {"name": "emulator-check", "version": "1.0"},
                },
            },
        )
        peer.notify("initialized", {})
        yield created[0]
        await created[0].request("shutdown", None)
        peer.notify("exit")
        async with asyncio.timeout(WAIT_SECONDS):
            assert await process.wait() == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await pump


async def _pump(stdout: asyncio.StreamReader, peer: Peer) -> None:
    while data := await stdout.read(1 << 16):
        peer.feed(data)
    peer.close("The language server has ended.")


def question(token: str, text: str, model: str) -> dict[str, Any]:
    return {
        "workDoneToken": token,
        "turns": [{"request": text}],
        "capabilities": {"skills": [], "allSkills": False},
        "source": "panel",
        "workspaceFolders": [],
        "model": model,
        "chatMode": "Ask",
    }


def text_pieces(reports: list[dict[str, Any]]) -> list[str]:
    """Return the pieces of the answer from either of the fields that may contain them."""
    return [
        piece
        for value in reports
        for piece in (value.get("reply"), *(each.get("reply") for each in value.get("editAgentRounds", ())))
        if piece
    ]


async def test_the_server_signs_in_lists_models_reads_the_quota_and_completes(emulator, tmp_path):
    document = {"uri": (tmp_path / "x.py").as_uri(), "version": 1}
    place = {"textDocument": document, "position": {"line": 1, "character": 0}}
    async with language_server(emulator, tmp_path) as server:
        assert await server.request("checkStatus", {}) == {"status": "OK", "user": "octocat"}
        listed = {row["id"]: row for row in await server.request("copilot/models", {})}
        assert {"gpt-4.1", "gpt-4o", "gpt-5-mini", "claude-sonnet-4.6"} <= set(listed)
        assert listed["claude-sonnet-4.6"]["modelPolicy"]["state"] == "enabled"
        quota = await server.request("checkQuota", {})
        assert (quota["copilotPlan"], quota["chat"]["unlimited"]) == ("individual", True)
        opened = {**document, "languageId": "python", "text": "def add(a, b):\n"}
        server.peer.notify("textDocument/didOpen", {"textDocument": opened})
        panel = {**place, "partialResultToken": "p1"}
        whole = await server.request("textDocument/copilotPanelCompletion", panel)
        items = [item for value in server.reports("p1") for item in value["items"]] + whole["items"]
    assert "  # completion 1 of: def add(a, b):" in [item["insertText"] for item in items]
    assert emulator.token_kinds_seen_by("proxy") == {"copilot"}
    assert emulator.token_kinds_seen_by("copilot-individual") == {"copilot"}
    assert emulator.token_kinds_seen_by("api") == {"ghu"}
    assert emulator.token_kinds_seen_by("github") == set()


async def test_the_server_streams_each_vendors_model_and_reports_an_exhausted_quota(emulator, tmp_path):
    routes = {
        "gpt-4.1": "/chat/completions",
        "claude-sonnet-4.6": "/v1/messages",
        "gemini-2.5-pro": "/chat/completions",
        "gpt-5.3-codex": "/responses",
    }
    async with language_server(emulator, tmp_path) as server:
        for model, path in routes.items():
            before = len(emulator.requests(path=path))
            await server.request("conversation/create", question(model, f"Is {model} on?", model))
            reports = server.reports(model)
            pieces = text_pieces(reports)
            assert "You said: " in "".join(pieces)
            assert f"Is {model} on?" in "".join(pieces)
            assert len(pieces) > 1
            assert reports[-1]["kind"] == "end"
            assert "error" not in reports[-1]
            assert emulator.requests(path=path)[before].json["model"] == model
        assert set(routes) <= {charge.model for charge in emulator.charges}
        emulator.script("gpt-4.1", *[faults.quota_exceeded()] * 3)
        await server.request("conversation/create", question("poor", "Hello", "gpt-4.1"))
        (end,) = [value for value in server.reports("poor") if value["kind"] == "end"]
    assert end["error"]["code"] == 402


async def test_the_server_exchanges_an_expired_token_again(emulator, tmp_path):
    async with language_server(emulator, tmp_path) as server:
        await server.request("conversation/create", question("t1", "One", "gpt-4.1"))
        before = emulator.exchanges
        emulator.expire_copilot_tokens()
        # The first request fails with the expired token, and the next one uses a new token.
        await server.request("conversation/create", question("t2", "Two", "gpt-4.1"))
        await server.request("conversation/create", question("t3", "Three", "gpt-4.1"))
        assert "Three" in "".join(text_pieces(server.reports("t3")))
    assert emulator.exchanges > before
