"""Specs: the declarations of each built-in kind, and their effect on the configuration."""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path

import pytest

from jumpseat.adapters.base import Adapter
from jumpseat.chat import ConfigError
from jumpseat.config import Config, ProviderConfig, load_config
from jumpseat.config.own_keys import own_keys
from jumpseat.providers import BUILT_IN, KINDS
from jumpseat.providers.checkup import check_file
from jumpseat.system.commands import command_environment
from jumpseat.system.environment import environment_of_process

pytestmark = pytest.mark.requirement("7:own-keys")


def load(home: Path, text: str, overlay: object = None) -> Config:
    (home / "config.toml").write_text(text, "utf-8")
    return load_config(None, overlay, environment=environment_of_process(), built_in=BUILT_IN, kinds=KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_spec_names_its_own_kind_and_an_adapter_that_exists(kind: str) -> None:
    module, _, name = KINDS[kind].adapter.partition(":")

    assert KINDS[kind].kind == kind
    assert issubclass(getattr(import_module(module), name), Adapter)


def test_the_built_in_providers_are_those_whose_specs_have_a_display_name() -> None:
    assert {kind for kind, spec in KINDS.items() if spec.display_name} == set(BUILT_IN)


@pytest.mark.parametrize("kind", KINDS)
def test_the_own_keys_of_a_kind_are_not_common_keys(kind: str) -> None:
    own = set(own_keys(KINDS[kind].options))

    assert own & set(ProviderConfig.model_fields) == set()
    assert set(KINDS[kind].source_keys) <= own
    assert set(KINDS[kind].user_only) <= own | set(ProviderConfig.model_fields)


WRONG = """
[providers.good]
kind = "openai"
[providers.gh]
kind = "copilot"
timeout = -1
client_id = "two words"
[providers.local]
model_path = 5
"""


def test_a_wrong_own_key_excludes_only_its_table_and_is_reported_with_its_line(home: Path) -> None:
    config = load(home, WRONG)

    assert list(config.providers) == ["good"]
    found = {name: [(f.key, f.line, f.message) for f in faults] for name, faults in config.faults.items()}
    assert found == {
        "gh": [
            ("providers.gh.timeout", 6, "must be greater than 0"),
            ("providers.gh.client_id", 7, "must be one word of ASCII"),
        ],
        "local": [("providers.local.model_path", 9, "must be a string")],
    }


async def test_a_check_of_the_file_finds_every_wrong_own_key(home: Path) -> None:
    (home / "config.toml").write_text(WRONG, "utf-8")

    found = [
        (fault.key, fault.line)
        for fault in (await check_file(home / "config.toml", environment_of_process())).errors
    ]
    assert ("providers.gh.client_id", 7) in found
    assert ("providers.local.model_path", 9) in found


def test_a_key_of_another_kind_is_unknown_and_a_mistyped_one_is_suggested(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = '[providers.a]\nkind = "openai"\nmodel_path = "x"\n[providers.local]\nmodel_pth = "x"\n'
    with caplog.at_level(logging.WARNING):
        load(home, text)

    file = home / "config.toml"
    assert caplog.messages == [
        f"{file}:3: providers.a.model_path: unknown key, which is ignored; did you mean models?",
        f"{file}:5: providers.local.model_pth: unknown key, which is ignored; did you mean model_path?",
    ]


@pytest.mark.requirement("7:trust")
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("local", "model_path"),
        ("copilot-language-server", "command"),
        ("copilot-language-server", "proxy"),
        ("copilot", "proxy"),
        ("openai", "ca_file"),
    ],
)
def test_a_client_cannot_set_keys_that_only_the_user_may_set(home: Path, kind: str, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"providers\.new\.{key} .*(only the user|your own)"):
        load(home, "", {"providers": {"new": {"kind": kind, key: "x"}}})


@pytest.mark.requirement("7:trust")
def test_a_client_may_set_other_own_keys_of_a_kind(home: Path) -> None:
    config = load(home, "", {"providers": {"new": {"kind": "copilot", "host": "acme.ghe.com"}}})

    assert config.providers["new"].model_extra == {"host": "acme.ghe.com"}


def test_a_variable_with_the_credential_of_a_provider_is_not_passed_to_commands(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_NAME", "the-token")
    config = load(home, '[providers.copilot]\ngithub_token = "env:SOME_NAME"\n')

    assert "SOME_NAME" not in command_environment(config.environment)


@pytest.mark.requirement("7:bare-names")
async def test_a_check_warns_if_a_credential_is_the_name_of_an_unset_variable(home: Path) -> None:
    (home / "config.toml").write_text('[providers.copilot]\ngithub_token = "MY_UNSET_TOKEN"\n', "utf-8")

    (warning,) = (await check_file(home / "config.toml", environment_of_process())).warnings
    assert (warning.key, warning.line) == ("providers.copilot.github_token", 2)
