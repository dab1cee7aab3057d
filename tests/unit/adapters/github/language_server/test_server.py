"""The language server as a process: begun once for all who need it, and told who asks."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

import jumpseat
from jumpseat.adapters.base import ClientInfo
from jumpseat.adapters.github.language_server.options import LanguageServerOptions
from jumpseat.adapters.github.language_server.server import editor_info
from jumpseat.chat import ConfigError
from jumpseat.system.secrets import hidden
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.house import GITHUB_TOKEN, POSIX, SECRET, House, Houses

pytestmark = POSIX


# -- the handshake


@pytest.mark.requirement("language-server:initialize")
async def test_it_is_started_when_it_is_needed_and_told_who_asks(
    house: House, fake: FakeLanguageServer
) -> None:
    assert house.server.running is None
    assert not fake.starts
    connection = await house.connection()
    assert house.server.running is connection
    assert connection.server_version == "1.539.0"
    assert fake.starts[0].argv == ["--stdio"]
    told = fake.params("initialize")[0]
    assert told["processId"] == os.getpid()
    assert told["initializationOptions"] == {
        "editorInfo": {"name": "Neovim", "version": "0.11.0"},
        "editorPluginInfo": {"name": "jumpseat", "version": jumpseat.__version__},
    }
    assert told["capabilities"] == {"window": {"showDocument": {"support": True}}}
    await fake.wait_for("workspace/didChangeConfiguration")
    assert fake.methods[:3] == ["initialize", "initialized", "workspace/didChangeConfiguration"]


@pytest.mark.parametrize(
    ("configured", "client", "expected"),
    [
        (None, ClientInfo("Emacs", None), {"name": "Emacs", "version": "0"}),
        (None, ClientInfo("  "), {"name": "jumpseat", "version": jumpseat.__version__}),
        (None, None, {"name": "jumpseat", "version": jumpseat.__version__}),
        ("Vim/9.1", ClientInfo("Emacs", "30"), {"name": "Vim", "version": "9.1"}),
    ],
)
@pytest.mark.requirement("language-server:initialize")
def test_the_editor_is_the_configured_one_else_the_attached_one_else_ourselves(
    configured: str | None, client: ClientInfo | None, expected: dict[str, str]
) -> None:
    assert editor_info(LanguageServerOptions(editor_version=configured), client) == expected


@pytest.mark.requirement("language-server:initialize")
async def test_what_it_says_before_it_answers_initialize_is_heard_in_order(
    house: House, fake: FakeLanguageServer
) -> None:
    asked = asyncio.ensure_future(fake.wait_for("initialize"))

    async def chatty(params: Any) -> Any:
        await asked
        for number in range(3):
            fake.notify("early", number)
        assert await fake.request("early/request") == ["early/request", None]
        return await fake.default("initialize", params)

    fake.on("initialize", chatty)
    await house.connection()
    assert house.notifications[:3] == [("early", 0), ("early", 1), ("early", 2)]
    assert ("copilot/hook/didChange", {}) in house.notifications


@pytest.mark.requirement("language-server:initialize")
async def test_without_any_configuration_it_gets_no_proxy_and_no_enterprise(
    house: House, fake: FakeLanguageServer
) -> None:
    await house.connection()
    told = await fake.wait_for("workspace/didChangeConfiguration")
    assert told == {"settings": {"telemetry": {"telemetryLevel": "off"}}}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            {"proxy": "http://me:p%40ss-word-of-mine@proxy.corp:8080"},
            {"http": {"proxy": "http://me:p%40ss-word-of-mine@proxy.corp:8080", "proxyStrictSSL": True}},
        ),
        ({"proxy": "proxy.corp"}, {"http": {"proxy": "http://proxy.corp:80", "proxyStrictSSL": True}}),
        (
            {"proxy": "env:MY_PROXY"},
            {"http": {"proxy": "https://[::1]:3128", "proxyStrictSSL": True}},
        ),
        ({"proxy": "none"}, {"http": {"proxy": "", "proxyStrictSSL": True}}),
        ({"host": "acme.ghe.com"}, {"github-enterprise": {"uri": "https://acme.ghe.com"}}),
        ({"host": "github.acme.com"}, {"github-enterprise": {"uri": "https://github.acme.com"}}),
        (
            {"github_url": "https://github.acme.com/"},
            {"github-enterprise": {"uri": "https://github.acme.com"}},
        ),
        ({"host": "github.com"}, {}),
    ],
)
@pytest.mark.requirement("language-server:initialize")
async def test_proxy_and_enterprise_are_told_as_configured(
    houses: Houses,
    fake: FakeLanguageServer,
    monkeypatch: pytest.MonkeyPatch,
    table: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    monkeypatch.setenv("MY_PROXY", "https://[::1]:3128")
    await houses.make(**table).connection()
    told = await fake.wait_for("workspace/didChangeConfiguration")
    assert told == {"settings": {"telemetry": {"telemetryLevel": "off"}, **expected}}


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"proxy": "socks5://user:hunter2@x"}, "providers.cls.proxy"),
        ({"proxy": "env:NOT_SET_ANYWHERE"}, "providers.cls.proxy"),
        ({"host": "a b"}, "providers.cls.host"),
        ({"env": {"A": "env:NOT_SET_ANYWHERE"}}, "providers.cls.env.A"),
        ({"command": ["/nowhere/at/all"]}, "providers.cls.command"),
    ],
)
@pytest.mark.requirement("language-server:command")
async def test_what_is_configured_wrong_is_reported_with_its_key_and_starts_nothing(
    houses: Houses, fake: FakeLanguageServer, table: dict[str, Any], key: str
) -> None:
    error = await houses.make(**table).failure()
    assert isinstance(error, ConfigError)
    assert key in error.message
    assert "hunter2" not in error.message
    assert not fake.starts


@pytest.mark.requirement("language-server:environment")
async def test_no_other_providers_key_is_in_its_environment_and_none_in_its_arguments(
    houses: Houses, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("SOMEBODYS", hidden(SECRET).reveal())
    monkeypatch.setenv("GITHUB_TOKEN", GITHUB_TOKEN)
    monkeypatch.setenv("GH_COPILOT_TOKEN", "its-own")
    table = {"env": {"FOR_IT": "alone"}, "proxy": f"http://me:{SECRET}@proxy.corp:1"}
    await houses.make(**table).connection()
    (start,) = fake.starts
    assert start.env["GH_COPILOT_TOKEN"] == "its-own"
    assert start.env["FOR_IT"] == "alone"
    assert start.env["PATH"] == os.environ["PATH"]
    for text in (*start.env.values(), *start.argv, *fake.command):
        assert SECRET not in text
        assert GITHUB_TOKEN not in text


# -- one server for all


@pytest.mark.requirement("language-server:restart")
async def test_many_who_need_it_at_once_start_one(house: House, fake: FakeLanguageServer) -> None:
    ready = asyncio.Event()

    async def slowly(params: Any) -> Any:
        await ready.wait()
        return await fake.default("initialize", params)

    fake.on("initialize", slowly)
    tasks = [asyncio.ensure_future(house.connection()) for _ in range(50)]
    await fake.wait_for("initialize")
    tasks[7].cancel()
    ready.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found.pop(7), asyncio.CancelledError)
    assert set(found) == {house.server.running}
    assert len(fake.starts) == 1
