"""Keys of a provider's table that only its plug-in defines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base.spec import ProviderSpec
from jumpseat.chat import ConfigError
from jumpseat.config import Config, load_config
from jumpseat.config.own_keys import unknown_keys
from jumpseat.system.environment import environment_of_process

KINDS = {"openai": ProviderSpec(kind="openai", adapter="", settings_rows={})}
FILE = """
[providers.theirs]
kind = "acme"
region = "eu"
[providers.ours]
kind = "openai"
region = "eu"
[providers.ours.settings.tone]
type = "string"
[providers.theirs.capabilities]
flight = true
"""


def load(home: Path, overlay: Any = None) -> Config:
    (home / "config.toml").write_text(FILE, "utf-8")
    return load_config(None, overlay, environment=environment_of_process(), kinds=KINDS)


@pytest.mark.requirement("7:plugins", "7:unknown-keys")
def test_keys_of_a_plug_ins_kind_are_left_to_the_plug_in(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = load(home)

    assert config.providers["theirs"].model_extra == {"region": "eu"}
    assert "providers.ours.region" in caplog.text
    assert "providers.theirs.region" not in caplog.text
    # The keys of tables that all kinds share are checked.
    assert "providers.theirs.capabilities.flight" in caplog.text


def test_without_kinds_only_common_keys_are_known(home: Path) -> None:
    assert "providers.theirs.region" in [each.key for each in unknown_keys(load(home), None)]


@pytest.mark.requirement("7:plugins", "7:trust-plugins")
def test_an_overlay_may_choose_a_plug_in_but_only_set_common_keys(home: Path) -> None:
    table = {"kind": "acme", "base_url": "https://api.example", "api_key": "literal"}
    assert load(home, {"providers": {"new": table}}).providers["new"].kind == "acme"

    with pytest.raises(ConfigError, match=r"providers\.new\.program is a plug-in's own key"):
        load(home, {"providers": {"new": {**table, "program": "rm"}}})
    with pytest.raises(ConfigError, match=r"providers\.theirs\.region"):
        load(home, {"providers": {"theirs": {"region": "us"}}})


def test_an_overlay_may_set_common_keys_of_a_configured_plug_in_provider(home: Path) -> None:
    config = load(home, {"providers": {"theirs": {"default_model": "m"}}})

    assert (config.providers["theirs"].default_model, config.providers["theirs"].model_extra) == (
        "m",
        {"region": "eu"},
    )
