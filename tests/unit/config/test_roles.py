"""The table `roles` of a provider: names in headings, names in requests, and errors."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import Config, load_config

pytestmark = pytest.mark.requirement("7:roles")


def load(tmp_path: Path, roles: str) -> Config:
    file = tmp_path / "config.toml"
    file.write_text(f'[providers.x]\nkind = "openai"\nroles = {roles}\n', "utf-8")
    return load_config(file, None)


@pytest.mark.parametrize(
    ("roles", "headings", "sent"),
    [
        ("{}", {}, {}),
        ('{ user = "Ich", assistant = "KI" }', {"user": "Ich", "assistant": "KI"}, {}),
        ('{ user = "my friend", assistant = "böse" }', {"user": "my friend", "assistant": "böse"}, {}),
        ('{ assistant = "model" }', {"assistant": "model"}, {"assistant": "model"}),
        (
            '{ assistant = "model", system = "developer", tool = "function" }',
            {"assistant": "model"},
            {"assistant": "model", "system": "developer", "tool": "function"},
        ),
        ('{ user = "Ich", wire = { user = "human" } }', {"user": "Ich"}, {"user": "human"}),
        ('{ assistant = "bot", wire = {} }', {"assistant": "bot"}, {}),
        ('{ assistant = "bot", wire = { user = "human" } }', {"assistant": "bot"}, {"user": "human"}),
        ('{ system = "a", tool = "t", wire = { system = "b" } }', {}, {"system": "b", "tool": "t"}),
    ],
)
def test_a_role_can_have_different_names_in_headings_and_requests(
    tmp_path: Path, roles: str, headings: dict[str, str], sent: dict[str, str]
) -> None:
    table = load(tmp_path, roles).providers["x"].roles

    assert table.names == headings
    assert table.wire_names == sent


@pytest.mark.parametrize(
    ("roles", "keys"),
    [
        ('{ user = "human", assistant = "model" }', ["user", "assistant"]),
        ('{ user = "user", assistant = "assistant" }', []),
        ('{ user = "Ich", assistant = "KI", system = "developer" }', []),
        ('{ assistant = "model", wire = { assistant = "model" } }', []),
    ],
)
def test_a_heading_that_is_also_sent_in_requests_is_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, roles: str, keys: list[str]
) -> None:
    with caplog.at_level(logging.WARNING):
        load(tmp_path, roles)

    warned = [record.getMessage().partition(": is one")[0] for record in caplog.records]
    assert warned == [f"{tmp_path / 'config.toml'}:3: providers.x.roles.{key}" for key in keys]


def test_the_warning_about_a_heading_in_an_overlay_names_the_overlay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("", "utf-8")
    overlay = {"providers": {"mine": {"kind": "openai", "roles": {"assistant": "model"}}}}

    with caplog.at_level(logging.WARNING):
        load_config(file, overlay)

    (record,) = caplog.records
    assert record.getMessage().startswith("initializationOptions.config: providers.mine.roles.assistant: ")


@pytest.mark.parametrize("role", ["system", "tool", "wire.system", "wire.user"])
@pytest.mark.parametrize("name", ["", "two words", "böse"])
def test_a_name_that_is_not_valid_in_a_request_is_a_fault(tmp_path: Path, role: str, name: str) -> None:
    config = load(tmp_path, f"{{ {role} = {json.dumps(name, ensure_ascii=False)} }}")

    (fault,) = config.faults["x"]
    assert fault.key == f"providers.x.roles.{role}"
    assert fault.message == "must be one word of ASCII"


@pytest.mark.requirement("7:trust")
def test_a_client_cannot_rename_the_roles_of_the_users_provider(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[providers.x]\nkind = "openai"\n', "utf-8")

    with pytest.raises(ConfigError, match=r"providers\.x\.roles"):
        load_config(file, {"providers": {"x": {"roles": {"assistant": "model"}}}})
