"""The limits of a client's overlay: it may choose among the user's providers, or add literal tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import Config, load_config
from jumpseat.config.sources import SOURCES
from jumpseat.system.environment import environment_of_process

pytestmark = pytest.mark.requirement("7:trust")

CANARY = "canary-4711"
FILE = """
default_provider = "mine"
[settings]
max_tokens = 100
[settings.providers.mine]
temperature = 1
[providers.mine]
kind = "openai"
base_url = "https://api.example/v1"
api_key = "env:MY_KEY"
default_model = "a"
[providers.mine.settings.temperature]
type = "number"
maximum = 2
[providers.broken]
timeout = -1
"""


def load_with_overlay(home: Path, overlay: Any) -> Config:
    (home / "config.toml").write_text(FILE, "utf-8")
    return load_config(None, overlay, environment=environment_of_process(), built_in=("local",))


def refusal(home: Path, overlay: Any) -> ConfigError:
    """Load this overlay, which is rejected, and return the error."""
    with pytest.raises(ConfigError) as caught:
        load_with_overlay(home, overlay)
    return caught.value


@pytest.mark.parametrize(
    "overlay",
    [
        None,
        {},
        {"providers": None, "settings": None, "default_model": None},
        {"providers": {}, "settings": {}},
        {"providers": [], "settings": []},
        {"providers": {"mine": None, "local": {}}},
        {"providers": {"mine": {"settings": {}, "capabilities": None, "default_model": None}}},
        {"providers": {"mine": {"api_key": None, "base_url": None, "headers": {}, "models": []}}},
        {"unknown": None, "another": {}},
    ],
)
def test_an_overlay_of_absent_values_is_ignored(home: Path, overlay: Any) -> None:
    assert load_with_overlay(home, overlay).model_dump() == load_with_overlay(home, None).model_dump()


def test_an_overlay_may_choose_the_defaults(home: Path) -> None:
    config = load_with_overlay(home, {"default_provider": "local", "default_model": "local:x"})

    assert (config.default_provider, config.default_model) == ("local", "local:x")


def test_an_overlay_may_override_settings_of_the_file(home: Path) -> None:
    config = load_with_overlay(home, {"settings": {"providers": {"mine": {"top_p": 0.5}, "other": {"x": 1}}}})

    assert config.settings == {
        "max_tokens": 100,
        "providers": {"mine": {"temperature": 1, "top_p": 0.5}, "other": {"x": 1}},
    }


def test_an_overlay_may_change_three_keys_of_a_known_provider(home: Path) -> None:
    before = load_with_overlay(home, None).providers["mine"].settings
    changes = {
        "default_model": "b",
        "capabilities": {"vision": False},
        "settings": {"temperature": 0.3, "stop": ["a"]},
    }
    config = load_with_overlay(
        home, {"providers": {"mine": changes}, "settings": {"providers": {"mine": {"a": 1}}}}
    )
    mine = config.providers["mine"]

    assert (mine.default_model, mine.capabilities.vision) == ("b", False)
    assert config.settings["providers"]["mine"] == {"temperature": 0.3, "stop": ["a"], "a": 1}
    assert mine.settings == before
    assert (mine.base_url, mine.api_key) == ("https://api.example/v1", "env:MY_KEY")


@pytest.mark.parametrize("provider", ["mine", "local", "broken"])
@pytest.mark.parametrize(
    "row",
    [
        {"type": "list", "default": [{"type": "url", "url": f"https://evil.example/{CANARY}"}]},
        {"default": 1},
        {"mapping": "parameters.metadata"},
        {"type": "boolean", "default": True},
    ],
)
@pytest.mark.parametrize("key", ["temperature", "mcp_servers"])
def test_an_overlay_cannot_define_settings_rows_of_a_known_provider(
    home: Path, provider: str, row: dict[str, Any], key: str
) -> None:
    error = refusal(home, {"providers": {provider: {"settings": {key: row}}}})

    assert f"providers.{provider}.settings.{key} must be a value" in error.message
    assert CANARY not in error.message
    assert str(home / "config.toml") in (error.hint or "")


@pytest.mark.parametrize(
    "name",
    [
        "mine\u200b",
        "\u2060mine",
        "mi\u00adne",
        "mine\ufe0f",
        "mine\u3164",
        "Mine",
        "MINE",
        "m1ne",
        "rnine",
        "mi-ne",
        "mine.",
        "_mine",
        "m\u0456ne",
        "\uff4dine",
        "min\u0435",
        "min\u00e9",
        "mine\u0301",
        "\U0001d426ine",
        "Local",
        "1oca1",
        "broken\u200d",
        "broke\u0578",
        "mine" + "\u3164" * 90,
        "x" * 101,
    ],
)
def test_a_provider_with_a_look_alike_or_overlong_name_cannot_be_added(home: Path, name: str) -> None:
    error = refusal(home, {"providers": {name: {"kind": "openai", "base_url": "https://evil.example/v1"}}})

    assert "which is already defined" in error.message or "is longer than 100 characters" in error.message
    assert error.message.isascii() or len(name) > 100


@pytest.mark.parametrize("name", ["mine2", "my", "min", "miner", "nine", "b\u00fcro", "\u65e5\u672c"])
def test_a_provider_with_a_name_of_its_own_may_be_added(home: Path, name: str) -> None:
    table = {"kind": "openai", "base_url": "https://new.example/v1", "settings": {"t": {"type": "number"}}}

    assert (
        load_with_overlay(home, {"providers": {name: table}}).providers[name].settings["t"].type == "number"
    )


def test_an_overlay_may_add_a_provider_of_literal_values(home: Path) -> None:
    table = {
        "kind": "openai",
        "base_url": "http://127.0.0.1:1/v1",
        "api_key": "literal",
        "headers": {"X-A": "b"},
        "parameters": {"n": [1, {"a": None}]},
    }
    config = load_with_overlay(home, {"providers": {"new": table}})

    assert config.providers["new"].base_url == "http://127.0.0.1:1/v1"
    assert config.providers["new"].api_key == "literal"
    assert config.providers["mine"].api_key == "env:MY_KEY"


@pytest.mark.parametrize("key", ["proxy", "ca_file", "log_file", "Providers"])
def test_other_top_level_keys_are_refused(home: Path, key: str) -> None:
    error = refusal(home, {key: CANARY})

    assert key in error.message
    assert CANARY not in error.message
    assert error.hint


@pytest.mark.parametrize("provider", ["mine", "local"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "ollama"),
        ("base_url", f"https://evil.example/{CANARY}"),
        ("url", f"https://evil.example/{CANARY}"),
        ("api_key", CANARY),
        ("api_key", ""),
        ("headers", {"Host": CANARY}),
        ("parameters", {"user": CANARY}),
        ("query", {"a": CANARY}),
        ("env", {"a": CANARY}),
        ("roles", {"assistant": CANARY}),
        ("models", [CANARY]),
        ("name", CANARY),
        ("timeout", 1),
        ("max_retries", 0),
        ("proxy", CANARY),
        ("ca_file", CANARY),
        ("client_cert", CANARY),
        ("model_path", CANARY),
        ("command", CANARY),
        ("host", CANARY),
        ("github_token", CANARY),
    ],
)
def test_every_other_key_of_a_known_provider_is_refused(
    home: Path, provider: str, key: str, value: Any
) -> None:
    error = refusal(home, {"providers": {provider: {"default_model": "b", key: value}}})

    assert f"providers.{provider}.{key}" in error.message
    assert CANARY not in error.message


@pytest.mark.parametrize("prefix", SOURCES)
@pytest.mark.parametrize(
    ("overlay", "key"),
    [
        ({"providers": {"new": {"kind": "openai", "api_key": "?"}}}, "providers.new.api_key"),
        ({"providers": {"new": {"headers": {"X-A": "?"}}}}, "providers.new.headers.X-A"),
        ({"providers": {"new": {"parameters": {"a": [0, {"b": "?"}]}}}}, "providers.new.parameters.a.1.b"),
        ({"providers": {"new": {"env": {"a": "?"}}}}, "providers.new.env.a"),
        ({"providers": {"new": {"query": {"a": "?"}}}}, "providers.new.query.a"),
        ({"providers": {"new": {"roles": {"wire": {"user": "?"}}}}}, "providers.new.roles.wire.user"),
        ({"providers": {"new": {"models": [{"id": "?"}]}}}, "providers.new.models.0.id"),
        ({"providers": {"new": {"proxy": "?"}}}, "providers.new.proxy"),
        (
            {"providers": {"new": {"settings": {"t": {"type": "string", "mapping": "?"}}}}},
            "providers.new.settings.t.mapping",
        ),
        ({"providers": {"new": {"later_key": "?"}}}, "providers.new.later_key"),
        ({"providers": {"mine": {"default_model": "?"}}}, "providers.mine.default_model"),
        ({"providers": {"mine": {"settings": {"t": "?"}}}}, "providers.mine.settings.t"),
        ({"settings": {"providers": {"mine": {"t": "?"}}}}, "settings.providers.mine.t"),
        ({"default_model": "?"}, "default_model"),
    ],
)
def test_sources_are_refused_everywhere(home: Path, overlay: Any, key: str, prefix: str) -> None:
    def fill_all(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: fill_all(item) for name, item in value.items()}
        if isinstance(value, list):
            return [fill_all(item) for item in value]
        return prefix + CANARY if value == "?" else value

    error = refusal(home, fill_all(overlay))

    assert f"{key} " in error.message
    assert prefix in error.message
    assert CANARY not in error.message


@pytest.mark.parametrize("key", ["base_url", "api_key", "model_path"])
def test_placeholders_are_refused(home: Path, key: str) -> None:
    error = refusal(home, {"providers": {"new": {key: "https://evil.example/${api_key}"}}})

    assert f"providers.new.{key}" in error.message


@pytest.mark.parametrize(
    ("overlay", "key"),
    [
        ({"providers": "x"}, "providers"),
        ({"providers": ["x"]}, "providers"),
        ({"providers": {"new": "x"}}, "providers.new"),
        ({"providers": {"mine": 5}}, "providers.mine"),
        ({"settings": "x"}, "settings"),
        ({"default_provider": 5}, "default_provider"),
        ({"providers": {"new": {"base_url": 5}}}, "providers.new.base_url"),
        ({"providers": {"mine": {"capabilities": {"vision": "yes"}}}}, "providers.mine.capabilities.vision"),
    ],
)
def test_the_error_for_a_wrong_type_names_the_overlay_and_the_key(home: Path, overlay: Any, key: str) -> None:
    message = refusal(home, overlay).message

    assert message.startswith(f"initializationOptions.config: {key}")


def test_a_fault_of_the_file_is_not_reported_as_one_of_the_overlay(home: Path) -> None:
    (home / "config.toml").write_text("default_provider = 5", "utf-8")

    with pytest.raises(ConfigError, match=r"config\.toml:1: default_provider"):
        load_config(None, {"default_provider": "x"}, environment=environment_of_process())
