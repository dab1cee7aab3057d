"""The default provider and model in consecutive daemons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user

pytestmark = pytest.mark.slow


def configure(home: Path, upstream: FakeUpstream, *names: str, top: str = "") -> None:
    """Write the user's configuration file with these providers, which always answer "Hi"."""
    upstream.default(Reply.events(completion_stream(["Hi"])))
    where = f'kind = "openai"\nbase_url = "{upstream.base_url}"'
    tables = [f'[providers.{name}]\n{where}\ndefault_model = "{name}-own"' for name in names]
    (home / "config.toml").write_text("\n".join([top, *tables]), "utf-8")


async def ask(home: Path, config: dict[str, Any] | None = None, **params: Any) -> str:
    """Start a daemon and a chat. Return the provider and model that were asked, or the code of the error."""
    async with running_daemon(home) as daemon:
        await daemon.initialize(config)
        exchange = await daemon.request("chat/start", {"messages": [user("hi")], **params})
        if "error" in exchange.response:
            return str(exchange.error["code"])
        return f"{exchange.deltas[0]['provider']}/{exchange.deltas[0]['model']}"


async def save(home: Path, **settings: Any) -> None:
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        _ = (await daemon.request("settings/save", {"settings": settings})).result


@pytest.mark.requirement("4:saved-default")
async def test_the_first_choice_stays_when_a_provider_is_added(home: Path, upstream: FakeUpstream) -> None:
    configure(home, upstream, "one")
    assert await ask(home) == "one/one-own"

    configure(home, upstream, "one", "two")
    assert await ask(home) == "one/one-own"
    await save(home, default_provider="two")
    assert await ask(home) == "two/two-own"


@pytest.mark.requirement("4:saved-default")
async def test_the_choice_is_saved_in_the_settings_and_announced(home: Path, upstream: FakeUpstream) -> None:
    configure(home, upstream, "one")
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        exchange = await daemon.request("providers/list")

        assert [row["id"] for row in exchange.result["providers"] if row["isDefault"]] == ["one"]
        expected = {"settings": {"default_provider": "one", "providers": {}}}
        assert [each["params"] for each in exchange.notifications] == [expected]
        assert (await daemon.request("settings/get")).result == expected


@pytest.mark.requirement("4:configured-default")
async def test_the_configuration_takes_precedence_over_saved_defaults(
    home: Path, upstream: FakeUpstream
) -> None:
    configure(home, upstream, "one", "two")
    await save(home, default_provider="one", default_model="one:saved")
    assert await ask(home) == "one/saved"

    configure(home, upstream, "one", "two", top='default_provider = "two"\ndefault_model = "configured"')
    assert await ask(home) == "two/configured"
    assert await ask(home, model="one:") == "one/one-own"


@pytest.mark.requirement("4:saved-default-model")
async def test_a_saved_default_model_lasts_but_the_model_of_one_chat_is_not_saved(
    home: Path, upstream: FakeUpstream
) -> None:
    configure(home, upstream, "one")
    assert await ask(home, model="one:just-once") == "one/just-once"
    assert await ask(home) == "one/one-own"

    await save(home, default_model="one:switched")
    assert await ask(home) == "one/switched"
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        upstream.default(Reply.json({"data": [{"id": "one-own"}, {"id": "switched"}]}), path="/v1/models")
        rows = (await daemon.request("models/list", {"provider": "one"})).result["models"]
    assert {row["id"]: row["isDefault"] for row in rows} == {"one:one-own": False, "one:switched": True}


@pytest.mark.requirement("4:overlay-default")
async def test_a_workspaces_default_does_not_apply_to_another_workspace(
    home: Path, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    assert await ask(home, provider(upstream.base_url)) == "fake/m"
    assert not (home / "settings.json").exists()

    configure(home, upstream, "one")
    overlay = provider(upstream.base_url)
    assert await ask(home, {**overlay, "default_provider": "fake"}) == "fake/m"
    assert await ask(home) == "one/one-own"
    assert await ask(home, overlay) == "one/one-own"
    assert json.loads((home / "settings.json").read_text())["settings"] == {"default_provider": "one"}


@pytest.mark.requirement("4:saved-default-gone")
async def test_a_saved_default_that_no_longer_exists_is_skipped_with_a_warning(
    home: Path, upstream: FakeUpstream
) -> None:
    configure(home, upstream, "one", "two")
    await save(home, default_provider="two")
    configure(home, upstream, "one")
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        exchange = await daemon.request("chat/start", {"messages": [user("hi")]})
        assert exchange.deltas[0]["provider"] == "one"
        daemon.close_stdin()
        await daemon.exit_code()

    assert "saved default provider two does not exist here" in daemon.log


@pytest.mark.requirement("4:saved-default")
async def test_a_default_is_not_saved_if_no_provider_is_usable(daemon: Daemon, home: Path) -> None:
    await daemon.initialize()
    error = (await daemon.request("chat/start", {"messages": [user("hi")]})).error

    assert error["code"] == 1000
    assert not (home / "settings.json").exists()
