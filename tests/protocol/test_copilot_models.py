"""Copilot's models and quotas through the real daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jumpseat.testing.upstream import Reply
from tests.copilot import configure, copilot_daemon, make_question, table
from tests.emulator import CopilotEmulator, faults

pytestmark = pytest.mark.slow


@pytest.fixture
async def emulator(home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        configure(home, table(running, github_token=running.issue_token("octocat")))
        yield running


async def list_models(daemon, **params):
    answer = (await daemon.request("models/list", {"provider": "copilot", **params})).result
    assert answer["errors"] == []
    return {row["model"]: row for row in answer["models"]}


@pytest.mark.requirement("copilot:models", "copilot:auto")
async def test_the_list_has_the_facts_for_a_model_picker(home, emulator):
    async with copilot_daemon(home) as daemon:
        rows = await list_models(daemon)

    claude, off = rows["claude-sonnet-4.6"], rows["claude-opus-4.7"]
    assert claude["id"] == "copilot:claude-sonnet-4.6"
    assert claude["maxPromptTokens"] < claude["maxContextTokens"]
    assert claude["thinkingLevels"][:3] == ["low", "medium", "high"]
    assert claude["policy"] == "enabled"
    assert off["policy"] == "disabled"
    assert "Enable access" in off["policyTerms"]
    assert rows["gpt-5.3-codex"]["endpoints"] == ["/responses"]
    assert [row["model"] for row in rows.values() if row["isDefault"]] == ["gpt-4.1"]
    assert not any("embedding" in name for name in rows)
    assert rows["auto"]["name"] == "Auto"


@pytest.mark.requirement("3:set-policy")
async def test_terms_are_accepted_only_at_a_clients_request_and_the_effect_is_checked(home, emulator):
    model = "copilot:claude-haiku-4.5"
    async with copilot_daemon(home) as daemon:
        await list_models(daemon)
        refused = (await daemon.request("chat/start", make_question(model=model))).error
        untouched = emulator.requests(path="/models/claude-haiku-4.5/policy")
        row = (await daemon.request("models/setPolicy", {"model": model, "state": "enabled"})).result["model"]
        chat = await daemon.request("chat/start", make_question(model=model))

    assert refused["code"] == 1001
    assert f"jumpseat accept-terms {model}" in refused["data"]["hint"]
    assert untouched == []
    assert (row["id"], row["policy"]) == (model, "enabled")
    assert chat.result["text"] == "You said: Hello"


@pytest.mark.requirement("3:set-policy")
async def test_accepting_terms_fails_with_1001_if_the_plan_makes_it_ineffective(home, emulator):
    model = "copilot:claude-opus-4.7"
    async with copilot_daemon(home) as daemon:
        error = (await daemon.request("models/setPolicy", {"model": model, "state": "enabled"})).error
        wrong = (await daemon.request("models/setPolicy", {"model": model, "state": "disabled"})).error
        unknown = (
            await daemon.request("models/setPolicy", {"model": "copilot:nothing", "state": "enabled"})
        ).error

    assert error["code"] == 1001
    assert "plan" in error["data"]["hint"]
    assert wrong["code"] == -32602
    assert unknown["code"] == 1004


@pytest.mark.requirement("3:set-policy")
async def test_accepting_terms_fails_for_a_provider_without_terms(home):
    (home / "config.toml").write_text('[providers.free]\nkind = "ollama"\n', "utf-8")
    async with copilot_daemon(home) as daemon:
        error = (await daemon.request("models/setPolicy", {"model": "free:m", "state": "enabled"})).error

    assert (error["code"], error["data"]["kind"]) == (1004, "request")


@pytest.mark.requirement("4:upstream-spellings")
@pytest.mark.parametrize("name", ["claude-sonnet-4-6", "claude-sonnet-4-6-20260217", "Claude-Sonnet-4.6"])
async def test_the_vendors_spelling_of_a_model_is_understood(home, emulator, name):
    async with copilot_daemon(home) as daemon:
        await list_models(daemon)
        chat = await daemon.request("chat/start", make_question(model=f"copilot:{name}"))

    assert chat.deltas[0] == {"type": "start", "provider": "copilot", "model": "claude-sonnet-4.6"}
    assert chat.result["text"] == "You said: Hello"


@pytest.mark.requirement("copilot:default-model")
async def test_a_chat_without_a_model_uses_one_that_the_account_can_use(home, emulator):
    emulator.models["gpt-4.1"].is_default = False
    emulator.models["claude-opus-4.7"].is_default = True
    async with copilot_daemon(home) as daemon:
        chat = await daemon.request("chat/start", make_question(model="copilot:"))

    assert chat.result["text"] == "You said: Hello"
    assert chat.deltas[0]["model"] != "claude-opus-4.7"


@pytest.mark.requirement("copilot:auto")
async def test_the_model_auto_lets_the_service_choose_and_sends_its_session(home, emulator):
    async with copilot_daemon(home) as daemon:
        chats = [await daemon.request("chat/start", make_question(model="copilot:auto")) for _ in range(2)]

    assert [chat.result["text"] for chat in chats] == ["You said: Hello"] * 2
    assert chats[0].deltas[0]["model"] == "auto"
    assert chats[0].result["model"] != "auto"
    assert len(emulator.requests(path="/models/session")) == 1
    requests = [request for request in emulator.requests() if "copilot-session-token" in request.headers]
    assert len(requests) == 2


@pytest.mark.requirement("3:models-list")
async def test_a_failed_list_does_not_affect_other_lists_or_chats(home, emulator):
    emulator.script("/models", *[faults.server_error()] * 9)
    async with copilot_daemon(home) as daemon:
        answer = (await daemon.request("models/list", {"provider": "copilot"})).result
        chat = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))

    assert answer["models"] == []
    assert answer["errors"][0]["provider"] == "copilot"
    assert answer["errors"][0]["error"]["code"] == 1007
    assert chat.result["text"] == "You said: Hello"


@pytest.mark.requirement("8:quotas")
async def test_the_client_is_notified_when_a_quota_crosses_80_and_95_percent(home, emulator):
    bucket = emulator.account().buckets["premium_interactions"]
    # One user turn with a model of multiplier 1 costs 1 of the 300 premium requests.
    bucket.remaining = 0.21 * bucket.entitlement
    received = []
    async with copilot_daemon(home) as daemon:
        await daemon.request("auth/status", {"provider": "copilot"})
        for left in (0.21, 0.2, 0.19, 0.1, 0.05, 0.04, 0.01):
            bucket.remaining = left * bucket.entitlement
            chat = await daemon.request("chat/start", make_question(model="copilot:claude-sonnet-4.6"))
            received.append([m["params"] for m in chat.notifications if m["method"] == "auth/didChange"])

    counts = [len(changes) for changes in received]
    percents = [
        next(q["percentRemaining"] for q in changes[0]["quotas"] if q["name"] == "premium_interactions")
        for changes in received
        if changes
    ]
    assert sum(counts) == 2
    assert percents[0] <= 20
    assert percents[1] <= 5


@pytest.mark.requirement("8:quotas")
async def test_the_old_shape_of_the_free_plans_quotas_is_read(home, emulator):
    emulator.set_plan("free")
    emulator.account().old_free_shape = True
    async with copilot_daemon(home) as daemon:
        status = (await daemon.request("auth/status", {"provider": "copilot"})).result

    quotas = {quota["name"]: quota for quota in status["quotas"]}
    assert status["plan"] == "free"
    assert quotas["chat"]["entitlement"] == 50
    assert not quotas["chat"]["unlimited"]


@pytest.mark.requirement("4:provider-prefix")
async def test_another_provider_is_listed_and_used_without_a_request_to_copilot(home, emulator, upstream):
    upstream.default(Reply.json({"data": [{"id": "m-1"}]}), path="/v1/models")
    upstream.default(Reply.json({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}))
    acme = {"kind": "openai", "base_url": upstream.base_url, "api_key": "sk-0123456789abcdef"}
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")), acme)
    async with copilot_daemon(home) as daemon:
        rows = (await daemon.request("models/list", {"provider": "copilot2"})).result["models"]
        chat = await daemon.request("chat/start", make_question(model="copilot2:m-1", stream=False))

    assert [row["id"] for row in rows] == ["copilot2:m-1"]
    assert chat.result["text"] == "Hi"
    assert emulator.seen == []
