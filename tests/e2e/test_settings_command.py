"""`jumpseat settings` with the real daemon: showing, saving and removing values, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jumpseat_client import Client, RequestFailed

pytestmark = [pytest.mark.timeout(60), pytest.mark.requirement("5:settings"), pytest.mark.slow]


@pytest.fixture(autouse=True)
def configured(home: Path) -> None:
    table = 'kind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    rows = '[providers."a.b".settings]\nstop = {type = "list"}\nnote = {type = "string"}\n'
    (home / "config.toml").write_text(f'[providers.groq]\n{table}[providers."a.b"]\n{table}{rows}', "utf-8")


def settings(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jumpseat", "settings", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


def test_values_are_saved_shown_and_removed() -> None:
    for key, value in (
        ("default_provider", "groq"),
        ("default_model", "4"),
        ("max_tokens", "4000"),
        ("providers.groq.temperature", "0.2"),
        ("providers.a.b.stop", '["x", "y"]'),
        ("providers.a.b.note", "plain words"),
    ):
        done = settings("set", key, value)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    assert settings().stdout.splitlines() == [
        "default_model\t4",
        "default_provider\tgroq",
        "max_tokens\t4000",
        "providers.a.b.note\tplain words",
        'providers.a.b.stop\t["x", "y"]',
        "providers.groq.temperature\t0.2",
    ]
    assert settings("get", "providers.groq.temperature").stdout == "0.2\n"
    assert json.loads(settings("get", "--json", "providers.a.b.stop").stdout) == ["x", "y"]

    whole = json.loads(settings("unset", "--json", "providers.groq").stdout)
    assert whole == json.loads(settings("--json").stdout)
    assert set(whole["providers"]) == {"a.b"}
    assert settings("unset", "max_tokens").returncode == 0
    assert settings("get", "max_tokens").returncode == 1


def test_getting_a_key_without_a_value_exits_with_1_and_a_message_on_stderr() -> None:
    done = settings("get", "default_model")

    assert (done.returncode, done.stdout) == (1, "")
    assert "Nothing is saved as default_model." in done.stderr
    assert settings().stdout == ""


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("max_tokens", "many", "settings.max_tokens"),
        ("providers.groq.temperature", "9", "at most 2"),
        ("default_provider", "unconfigured", "groq"),
        ("colour", "red", "default_provider"),
    ],
)
def test_a_rejected_value_is_reported_with_its_key_and_rule(key: str, value: str, message: str) -> None:
    done = settings("set", key, value)

    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    refused = json.loads(settings("set", "--json", key, value).stdout)
    assert refused["error"]["code"] == -32602


@pytest.mark.parametrize(
    "arguments", [("set", "max_tokens"), ("set", "max_tokens", "null"), ("get",), ("--json", "get", "x")]
)
def test_wrong_usage_exits_with_code_2(arguments: tuple[str, ...]) -> None:
    assert settings(*arguments).returncode == 2


@pytest.mark.parametrize("command", [(), ("get",), ("set",), ("unset",)])
def test_every_command_has_help_with_examples(command: tuple[str, ...]) -> None:
    done = settings(*command, "--help")

    assert done.returncode == 0
    assert "  Examples:\n" in done.stdout
    assert f"jumpseat settings {' '.join(command)}".strip() in done.stdout


async def test_the_client_library_gets_saves_and_deletes_settings_and_receives_changes() -> None:
    heard: list[tuple[str, Any]] = []
    async with Client.spawn(on_notification=lambda method, params: heard.append((method, params))) as client:
        assert await client.settings() == {"providers": {}}
        saved = await client.save_settings({"max_tokens": 5, "providers": {"groq": {"temperature": 1}}})
        assert saved == {"max_tokens": 5, "providers": {"groq": {"temperature": 1}}}
        assert heard == [("settings/didChange", {"settings": saved})]
        assert await client.save_settings({"max_tokens": None, "providers": None}) == {"providers": {}}
        with pytest.raises(RequestFailed, match="max_tokens"):
            await client.save_settings({"max_tokens": 0})
