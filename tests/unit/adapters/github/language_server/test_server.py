"""The start of a language server: once for all requests, with the client's name and the configuration."""

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
from jumpseat.system.secrets import register_secret
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.harness import GITHUB_TOKEN, POSIX, SECRET, Harness, Harnesses

pytestmark = POSIX


# -- the handshake


@pytest.mark.requirement("language-server:initialize")
async def test_the_first_use_starts_the_server_and_names_the_client(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    assert harness.server.running_connection is None
    assert not fake.starts
    connection = await harness.connect()
    assert harness.server.running_connection is connection
    assert connection.server_version == "1.539.0"
    assert fake.starts[0].argv == ["--stdio"]
    params = fake.params("initialize")[0]
    assert params["processId"] == os.getpid()
    assert params["initializationOptions"] == {
        "editorInfo": {"name": "Neovim", "version": "0.11.0"},
        "editorPluginInfo": {"name": "jumpseat", "version": jumpseat.__version__},
    }
    assert params["capabilities"] == {"window": {"showDocument": {"support": True}}}
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
def test_the_editor_is_the_configured_one_else_the_client_else_jumpseat(
    configured: str | None, client: ClientInfo | None, expected: dict[str, str]
) -> None:
    assert editor_info(LanguageServerOptions(editor_version=configured), client) == expected


@pytest.mark.requirement("language-server:initialize")
async def test_messages_sent_before_the_initialize_result_are_handled_in_order(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    requested = asyncio.ensure_future(fake.wait_for("initialize"))

    async def send_early(params: Any) -> Any:
        await requested
        for number in range(3):
            fake.notify("early", number)
        assert await fake.request("early/request") == ["early/request", None]
        return await fake.default("initialize", params)

    fake.on("initialize", send_early)
    await harness.connect()
    assert harness.notifications[:3] == [("early", 0), ("early", 1), ("early", 2)]
    assert ("copilot/hook/didChange", {}) in harness.notifications


@pytest.mark.requirement("language-server:initialize")
async def test_the_server_gets_a_proxy_and_an_enterprise_only_if_configured(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    await harness.connect()
    changed = await fake.wait_for("workspace/didChangeConfiguration")
    assert changed == {"settings": {"telemetry": {"telemetryLevel": "off"}}}


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
async def test_the_configured_proxy_and_enterprise_are_passed(
    harnesses: Harnesses,
    fake: FakeLanguageServer,
    monkeypatch: pytest.MonkeyPatch,
    table: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    monkeypatch.setenv("MY_PROXY", "https://[::1]:3128")
    await harnesses.make(**table).connect()
    changed = await fake.wait_for("workspace/didChangeConfiguration")
    assert changed == {"settings": {"telemetry": {"telemetryLevel": "off"}, **expected}}


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
async def test_a_configuration_fault_names_its_key_and_prevents_a_start(
    harnesses: Harnesses, fake: FakeLanguageServer, table: dict[str, Any], key: str
) -> None:
    error = await harnesses.make(**table).failure()
    assert isinstance(error, ConfigError)
    assert key in error.message
    assert "hunter2" not in error.message
    assert not fake.starts


@pytest.mark.requirement("language-server:environment")
async def test_the_process_is_not_given_foreign_keys_or_the_proxys_password(
    harnesses: Harnesses, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("UNRELATED", SECRET)
    monkeypatch.setenv("GITHUB_TOKEN", GITHUB_TOKEN)
    monkeypatch.setenv("GH_COPILOT_TOKEN", "its-own")
    table = {"env": {"FOR_IT": "alone"}, "proxy": f"http://me:{SECRET}@proxy.corp:1"}
    harness = harnesses.make(**table)
    harness.environment.withhold(register_secret(SECRET))
    await harness.connect()
    (start,) = fake.starts
    assert start.env["GH_COPILOT_TOKEN"] == "its-own"
    assert start.env["FOR_IT"] == "alone"
    assert start.env["PATH"] == os.environ["PATH"]
    for text in (*start.env.values(), *start.argv, *fake.command):
        assert SECRET not in text
        assert GITHUB_TOKEN not in text


# -- one server for all requests


@pytest.mark.requirement("language-server:restart")
async def test_simultaneous_first_uses_start_one_server(harness: Harness, fake: FakeLanguageServer) -> None:
    ready = asyncio.Event()

    async def when_ready(params: Any) -> Any:
        await ready.wait()
        return await fake.default("initialize", params)

    fake.on("initialize", when_ready)
    tasks = [asyncio.ensure_future(harness.connect()) for _ in range(50)]
    await fake.wait_for("initialize")
    tasks[7].cancel()
    ready.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found.pop(7), asyncio.CancelledError)
    assert set(found) == {harness.server.running_connection}
    assert len(fake.starts) == 1
