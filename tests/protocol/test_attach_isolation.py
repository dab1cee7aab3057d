"""Isolation: nothing that one client of the shared daemon does costs the others anything."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import provider, user
from tests.hub import Hub

pytestmark = pytest.mark.slow

REQUESTS = 40
"""More requests than a small pool of threads could hold."""


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe without a writer: opening it for reading blocks until somebody writes."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.requirement("9:hostile")
@pytest.mark.parametrize(
    "key",
    [
        "ca_file",
        "model_path",
        *(pytest.param(key, marks=pytest.mark.slow) for key in ("client_cert", "SSL_CERT_FILE")),
    ],
)
async def test_a_pipe_in_place_of_a_configured_file_does_not_block_other_clients(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path, pipe: Path, key: str
) -> None:
    upstream.default(Reply.events(completion_stream(["hello"])))
    line = 'kind = "openai"\nbase_url = "https://127.0.0.1:1/v1"'
    if key == "model_path":
        line = f'kind = "local"\nmodel_path = "{pipe}"'
    elif key != "SSL_CERT_FILE":
        line += f'\n{key} = "{pipe}"'
    config = tmp_path / "config.toml"
    config.write_text("\n".join(f"[providers.p{number}]\n{line}" for number in range(REQUESTS)), "utf-8")
    env = {key: str(pipe)} if key == "SSL_CERT_FILE" else None
    async with (
        hub.client("--config", str(config), env=env) as first,
        hub.client() as second,
    ):
        await first.initialize()
        for number in range(REQUESTS):
            first.start("models/list", {"provider": f"p{number}"})
        for _ in range(REQUESTS):
            response = await first.read()
            assert "regular file" in json.dumps(response)
        await second.initialize(provider(upstream.base_url))
        exchange = await second.request("chat/start", {"messages": [user("hi")]})
        assert exchange.result["text"] == "hello"


@pytest.mark.requirement("9:status")
async def test_the_status_survives_clients_with_long_and_broken_names(hub: Hub) -> None:
    info = {"name": "n" * 5_000_000, "version": "\x1b]0;title\x07\ud800"}
    async with hub.client() as client:
        await client.request("initialize", {"processId": None, "clientInfo": info, "capabilities": {}})
        (entry,) = (await hub.status())["clients"]
        assert len(entry["name"]) <= 100
        code, output = await hub.command("daemon", "status")
        assert code == 0
        assert "\x1b" not in output
