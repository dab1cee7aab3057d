"""Lists of models and providers, names of models, configuration, and the sign-in state."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.local.model import ENGINE, FILE_NAME, SMOLLM2
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user

MODELS = {"object": "list", "data": [{"id": "m", "object": "model"}, {"id": "big", "context_length": 9000}]}


def two_providers(upstream: FakeUpstream, **top: Any) -> dict[str, Any]:
    table = {"kind": "openai", "base_url": upstream.base_url}
    return {"providers": {"one": {**table, "default_model": "m1"}, "two": {**table}}, **top}


@pytest.mark.requirement("3:models-list", "3:model-info")
async def test_models_are_listed_even_if_another_provider_fails(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.json(MODELS), path="/v1/models")
    dead = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}
    overlay = provider(upstream.base_url)
    overlay["providers"]["dead"] = dead
    overlay["default_provider"] = "fake"
    await daemon.initialize(overlay)
    listing = (await daemon.request("models/list")).result
    rows = {row["id"]: row for row in listing["models"] if row["provider"] == "fake"}
    assert set(rows) == {"fake:m", "fake:big"}
    assert rows["fake:big"]["maxContextTokens"] == 9000
    assert "maxContextTokens" not in rows["fake:m"]
    assert (rows["fake:m"]["isDefault"], rows["fake:big"]["isDefault"]) == (True, False)
    assert {"name", "family", "version", "supportsVision", "preview", "pickerEnabled"} <= set(rows["fake:m"])
    (failure,) = [each for each in listing["errors"] if each["provider"] == "dead"]
    assert failure["error"]["code"] == 1008


@pytest.mark.requirement("3:models-list")
async def test_a_list_is_remembered_until_it_is_refreshed(chatty: Daemon, upstream: FakeUpstream) -> None:
    upstream.default(Reply.json(MODELS), path="/v1/models")
    for refresh, requests in ((False, 1), (False, 1), (True, 2)):
        await chatty.request("models/list", {"provider": "fake", "refresh": refresh})
        assert len(upstream.requests) == requests
    assert (await chatty.request("models/list", {"provider": "unknown"})).error["code"] == 1004


@pytest.mark.requirement("4:provider-prefix", "4:bare-name", "4:default-provider", "4:default-model")
@pytest.mark.parametrize(
    ("top", "name", "provider_id", "model"),
    [
        ({"default_provider": "one"}, None, "one", "m1"),
        ({"default_provider": "one"}, "qwen3:4b", "one", "qwen3:4b"),
        ({"default_provider": "one"}, "two:qwen3:4b", "two", "qwen3:4b"),
        ({"default_model": "two:x"}, None, "two", "x"),
        pytest.param({"default_provider": "one"}, "x", "one", "x", marks=pytest.mark.slow),
        pytest.param({"default_provider": "one"}, "two:x", "two", "x", marks=pytest.mark.slow),
        pytest.param(
            {"default_provider": "two", "default_model": "x"}, None, "two", "x", marks=pytest.mark.slow
        ),
    ],
)
async def test_a_name_resolves_to_a_provider_and_a_model(
    daemon: Daemon,
    upstream: FakeUpstream,
    top: dict[str, str],
    name: str | None,
    provider_id: str,
    model: str,
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    await daemon.initialize(two_providers(upstream, **top))
    exchange = await daemon.request("chat/start", {"messages": [user("hi")], "model": name})
    assert (exchange.deltas[0]["provider"], exchange.deltas[0]["model"]) == (provider_id, model)
    assert upstream.requests[0].json["model"] == model


@pytest.mark.requirement("4:bare-name", "4:default-model")
async def test_a_provider_without_a_default_model_requires_a_name(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    await daemon.initialize(two_providers(upstream, default_provider="two"))
    error = (await daemon.request("chat/start", {"messages": [user("hi")]})).error
    assert error["code"] == 1004
    assert "two" in error["message"]
    assert "default_model" in error["data"]["hint"]


@pytest.mark.requirement("4:not-ready")
async def test_the_error_without_any_provider_explains_how_to_add_one(daemon: Daemon) -> None:
    await daemon.initialize()
    exchange = await daemon.request("chat/start", {"messages": [user("hi")], "model": "x"})
    assert exchange.error["code"] == 1000
    assert "jumpseat login" in exchange.error["data"]["hint"]
    assert "jumpseat local install" in exchange.error["data"]["hint"]
    assert exchange.notifications == []
    status = (await daemon.request("auth/status")).result
    assert (status["provider"], status["state"], status["host"]) == ("copilot", "signed_out", "github.com")
    assert "jumpseat login" in status["message"]


@pytest.mark.requirement("5:providers-list", "5:auth-method")
async def test_providers_are_listed_with_their_capabilities(chatty: Daemon) -> None:
    rows = {row["id"]: row for row in (await chatty.request("providers/list")).result["providers"]}
    assert list(rows) == ["copilot", "local", "fake"]
    copilot = rows["copilot"]
    assert (copilot["kind"], copilot["name"], copilot["configured"]) == ("copilot", "GitHub Copilot", False)
    assert (copilot["auth"]["state"], copilot["auth"]["host"]) == ("signed_out", "github.com")
    assert [row["authMethod"] for row in rows.values()] == ["device_code", "none", "api_key"]
    fake = rows["fake"]
    assert (fake["kind"], fake["isDefault"], fake["configured"]) == ("openai", True, True)
    assert set(fake["capabilities"]) == {
        "streaming",
        "toolCalls",
        "jsonMode",
        "vision",
        "thinking",
        "resumableStreaming",
    }
    assert set(fake["capabilitySources"]) == set(fake["capabilities"])
    row = next(row for row in fake["settingsSchema"] if row["key"] == "temperature")
    assert (row["type"], row["minimum"], row["maximum"], row["mapping"]) == ("number", 0, 2, "parameters")


@pytest.mark.requirement("8:auth-status")
async def test_auth_status_reports_whether_a_provider_has_a_key(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    overlay = two_providers(upstream, default_provider="one")
    overlay["providers"]["two"]["api_key"] = "canary-key-12345"
    await daemon.initialize(overlay)
    assert (await daemon.request("auth/status")).result == {"provider": "one", "state": "not_required"}
    keyed = (await daemon.request("auth/status", {"provider": "two"})).result
    assert (keyed["provider"], keyed["state"]) == ("two", "configured")
    local = (await daemon.request("auth/status", {"provider": "local"})).result
    assert local["state"] in ("not_required", "signed_out")
    assert (await daemon.request("auth/status", {"provider": "?"})).error["code"] == 1004
    assert upstream.requests == []


@pytest.mark.requirement("7:file", "7:env-source")
async def test_the_configuration_in_jumpseat_home_is_read_with_a_key_from_the_environment(
    home: Path, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    (home / "config.toml").write_text(
        "[providers.filed]\n"
        'kind = "openai"\n'
        f'base_url = "{upstream.base_url}"\n'
        'api_key = "env:JUMPSEAT_TEST_KEY"\n'
        'default_model = "m"\n',
        "utf-8",
    )
    async with running_daemon(home, env={"JUMPSEAT_TEST_KEY": "canary-key-12345"}) as daemon:
        await daemon.initialize()
        assert (await daemon.request("chat/start", {"messages": [user("hi")]})).result["text"] == "Hi"
    assert upstream.requests[0].headers["authorization"] == "Bearer canary-key-12345"

    os.environ.pop("JUMPSEAT_TEST_KEY", None)
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        status = (await daemon.request("auth/status")).result
        assert status["state"] == "signed_out"
        assert "JUMPSEAT_TEST_KEY" in status["message"]
        error = (await daemon.request("chat/start", {"messages": [user("hi")]})).error
    assert error["code"] == 1010
    assert all(word in error["message"] for word in ("filed", "api_key", "env:JUMPSEAT_TEST_KEY"))


@pytest.mark.requirement("6:config")
async def test_a_broken_file_makes_initialize_fail_until_the_file_is_fixed(home: Path) -> None:
    file = home / "config.toml"
    file.write_text("[providers.x\n", "utf-8")
    async with running_daemon(home) as daemon:
        error = (await daemon.request("initialize", {})).error
        assert error["code"] == 1010
        assert str(file) in error["message"]
        file.write_text("\ndefault_provider = 3\n", "utf-8")
        error = (await daemon.request("initialize", {})).error
        assert f"{file}:2: default_provider: must be a string." in error["message"]
        file.write_text("", "utf-8")
        await daemon.initialize()


@pytest.mark.requirement("4:default-provider", "6:config")
async def test_a_configured_local_model_is_the_default_even_if_its_file_is_missing(
    home: Path,
) -> None:
    (home / "config.toml").write_text('[providers.local]\nmodel_path = "/nowhere/m.gguf"\n', "utf-8")
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        error = (await daemon.request("chat/start", {"messages": [user("hi")]})).error
    assert error["code"] == 1010
    assert "/nowhere/m.gguf" in error["message"]


@pytest.mark.requirement("7:unknown-keys")
async def test_an_unknown_key_is_warned_about_with_its_path(home: Path) -> None:
    (home / "config.toml").write_text('[providers.x]\nkind = "openai"\nbase_urll = "x"\n', "utf-8")
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        assert "providers.x.base_urll" in await daemon.whole_log()


FORBIDDEN_OVERLAYS: list[tuple[dict[str, Any], str]] = [
    ({"providers": {"mine": {"base_url": "http://evil.example/v1"}}}, "providers.mine.base_url"),
    ({"providers": {"mine": {"api_key": "x"}}}, "providers.mine.api_key"),
    ({"providers": {"local": {"model_path": "/x"}}}, "providers.local.model_path"),
    ({"providers": {"new": {"kind": "openai", "api_key": "env:HOME"}}}, "providers.new.api_key"),
    ({"providers": {"new": {"kind": "openai", "api_key": "cmd:cat x"}}}, "providers.new.api_key"),
    ({"providers": {"new": {"kind": "openai", "base_url": "http://h/${x}"}}}, "providers.new.base_url"),
    ({"providers": {"new": {"kind": "local", "model_path": "/x"}}}, "providers.new.model_path"),
    ({"log_file": "/x"}, "log_file"),
    (
        {"providers": {"mine": {"settings": {"store": {"type": "boolean", "default": True}}}}},
        "providers.mine.settings.store",
    ),
    ({"providers": {"mine\u200b": {"kind": "openai", "base_url": "http://evil.example/v1"}}}, "mine\\u200b"),
]
"""Overlays that would use or replace the user's own values, each with the key that its error names."""


@pytest.mark.requirement("7:trust")
async def test_an_overlay_has_no_access_to_the_users_own_values(home: Path) -> None:
    (home / "config.toml").write_text(
        '[providers.mine]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
        'api_key = "canary-key-12345"\n',
        "utf-8",
    )
    async with running_daemon(home) as daemon:
        for overlay, key in FORBIDDEN_OVERLAYS:
            params = {"initializationOptions": {"config": overlay}}
            error = (await daemon.request("initialize", params)).error
            assert error["code"] == 1010, overlay
            assert key in error["message"]
            assert "canary" not in str(error)
        await daemon.initialize({"default_provider": "mine", "providers": {"mine": {"default_model": "m"}}})


@pytest.mark.requirement("7:trust", "5:settings-precedence")
async def test_values_of_an_overlay_reach_requests_only_through_a_settings_row(
    home: Path, upstream: FakeUpstream
) -> None:
    (home / "config.toml").write_text(
        f'[providers.mine]\nkind = "openai"\nbase_url = "{upstream.base_url}"\ndefault_model = "m"', "utf-8"
    )
    upstream.default(Reply.events(completion_stream(["Hi"])))
    overlay = {
        "providers": {"mine": {"settings": {"temperature": 0.3, "store": True}}},
        "settings": {"providers": {"mine": {"top_p": 0.5, "metadata": {"a": "b"}, "mcp_servers": ["x"]}}},
    }
    async with running_daemon(home) as daemon:
        await daemon.initialize(overlay)
        _ = (await daemon.request("chat/start", {"messages": [user("Hi")]})).result

    body = upstream.requests[0].json
    assert (body["temperature"], body["top_p"]) == (0.3, 0.5)
    assert not {"store", "metadata", "mcp_servers"} & set(body)


@pytest.mark.requirement("8:did-change")
async def test_a_local_model_that_another_process_installs_or_deletes_is_reported(
    daemon: Daemon, home: Path
) -> None:
    pytest.importorskip(ENGINE)
    await daemon.initialize()
    before = (await daemon.request("auth/status", {"provider": "local"})).result
    assert before["state"] == "signed_out"

    async def wait_for_report() -> tuple[Any, Any]:
        """Wait for a notification. Return the state of the account in it, and the current models."""
        while (message := await daemon.read()).get("method") != "auth/didChange":
            pass
        listed = await daemon.request("models/list", {"provider": "local"})
        return message["params"]["state"], [each["model"] for each in listed.result["models"]]

    file = home / "models" / FILE_NAME
    file.parent.mkdir()
    file.write_bytes(b"GGUF")
    assert await wait_for_report() == ("not_required", [SMOLLM2.name])
    file.unlink()
    assert await wait_for_report() == ("signed_out", [])
