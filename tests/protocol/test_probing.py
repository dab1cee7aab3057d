"""`providers/list` with `probe`, against servers of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.copilot import configure, copilot_daemon, next_notification, table
from tests.daemon import Daemon, provider
from tests.emulator import CopilotEmulator
from tests.fakes.ollama import FakeModel, FakeOllama

pytestmark = [pytest.mark.requirement("5:probe"), pytest.mark.slow]


async def list_providers(daemon: Daemon, *, probe: bool = True) -> dict[str, Any]:
    """Return the rows of `providers/list` by id."""
    rows = (await daemon.request("providers/list", {"probe": probe})).result["providers"]
    return {row["id"]: row for row in rows}


def probe_results(row: dict[str, Any]) -> dict[str, bool]:
    """Return the results of a probe by capability."""
    return {
        name: row["capabilities"][name]
        for name, source in row["capabilitySources"].items()
        if source == "probe"
    }


async def test_an_ollama_servers_model_capabilities_are_found_and_announced(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    server = FakeOllama(upstream, [FakeModel(capabilities=("completion", "thinking")), FakeModel("old:1b")])
    await daemon.initialize({"providers": {"here": {"kind": "ollama", "base_url": server.base_url}}})
    assert probe_results((await list_providers(daemon, probe=False))["here"]) == {}

    request_id = daemon.start("providers/list", {"probe": True})
    await next_notification(daemon, "providers/didChange")
    rows = (await daemon.read_until(request_id)).result["providers"]
    (row,) = [row for row in rows if row["id"] == "here"]
    assert probe_results(row) == {"toolCalls": True, "thinking": True, "vision": False}
    assert row["auth"] == {"provider": "here", "state": "not_required"}
    # The daemon keeps the results of the probe, which take precedence over the configuration.
    assert probe_results((await list_providers(daemon, probe=False))["here"]) == probe_results(row)


async def test_a_probe_reads_capabilities_from_the_list_of_models_and_tries_the_key(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    listed = {
        "id": "m",
        "architecture": {"input_modalities": ["text", "image"]},
        "supported_parameters": ["tools"],
    }
    upstream.default(Reply.json({"data": [listed]}), path="/v1/models")
    keyed = {"kind": "openai", "base_url": upstream.base_url, "api_key": "canary-key-12345"}
    await daemon.initialize({"providers": {"keyed": {**keyed, "capabilities": {"vision": False}}}})
    row = (await list_providers(daemon))["keyed"]
    assert probe_results(row) == {"toolCalls": True, "vision": True, "thinking": False, "jsonMode": False}
    assert row["auth"] == {"provider": "keyed", "state": "signed_in"}
    (request,) = upstream.requests
    assert request.headers["authorization"] == "Bearer canary-key-12345"


@pytest.mark.requirement("5:providers-list")
async def test_a_failed_probe_is_reported_and_all_providers_are_listed(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    async with FakeUpstream() as refusing:
        refusing.default(Reply.json({"error": {"message": "Wrong key."}}, status=401))
        upstream.default(Reply.json({"data": []}), path="/v1/models")
        shared = {"kind": "openai", "api_key": "canary-key-12345"}
        tables = {
            "good": {**shared, "base_url": upstream.base_url},
            "refused": {**shared, "base_url": refusing.base_url},
            "gone": {**shared, "base_url": "http://127.0.0.1:9/v1"},
        }
        await daemon.initialize({"providers": tables, "default_provider": "good"})
        rows = await list_providers(daemon)
    assert {name: rows[name]["auth"]["state"] for name in tables} == {
        "good": "signed_in",
        "refused": "signed_out",
        "gone": "configured",
    }
    assert "Wrong key" in rows["refused"]["auth"]["message"]
    assert rows["gone"]["auth"]["message"]
    assert (rows["refused"]["configured"], rows["gone"]["configured"]) == (False, True)
    assert set(rows["gone"]["capabilitySources"].values()) == {"static"}
    # Copilot was not probed, because nobody has signed in.
    assert rows["copilot"]["auth"]["state"] == "signed_out"


async def test_a_probe_of_copilot_requests_the_plan_and_the_models_of_the_account(
    home: Path, emulator: CopilotEmulator
) -> None:
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")))
    async with copilot_daemon(home) as daemon:
        row = (await list_providers(daemon))["copilot"]
    assert (row["auth"]["state"], row["auth"]["login"]) == ("signed_in", "octocat")
    assert row["auth"]["plan"]
    assert probe_results(row) == {"toolCalls": True, "vision": True, "thinking": True, "jsonMode": True}


async def test_a_model_that_came_after_the_probe_is_not_limited_by_it(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    blind = {"id": "m", "architecture": {"input_modalities": ["text"]}}
    upstream.default(Reply.json({"data": [blind]}), path="/v1/models")
    upstream.default(Reply.events(completion_stream(["A cat."])), path="/v1/chat/completions")
    await daemon.initialize(provider(upstream.base_url))
    assert probe_results((await list_providers(daemon))["fake"]) == {"vision": False}
    image = {"type": "image", "source": "aGk=", "mediaType": "image/png"}
    params = {"messages": [{"role": "user", "content": [image]}], "model": "fake:newer"}
    assert (await daemon.request("chat/start", params)).result["text"] == "A cat."
