"""Changing keys in the configuration file leaves the rest of it unchanged."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config.editing import ConfigurationFile

CONFIG = """\
[providers.groq]
kind = "openai"
api_key = "env:NOT_SET_KEY" # mine
"""


@pytest.mark.parametrize(
    "text",
    [
        'providers = { groq = { kind = "openai", api_key = "x" } }\n',
        'providers.groq.kind = "openai"\nproviders.groq.api_key = "x"\n',
        '[providers]\ngroq = { kind = "openai" }\n',
        '[providers."a.b"]\nkind = "openai"\n[settings]\nmax_tokens = 1\n',
        "\ufeff# mark\r\n[providers.groq]\r\nkind = 'openai'\r\n",
        "",
    ],
)
def test_a_key_is_set_in_every_form_of_a_table_and_nothing_else_changes(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(text.encode())
    before = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    ConfigurationFile(file).set("groq", {"api_key": "env:NEW"})
    content = file.read_bytes().decode()
    after = tomllib.loads(content.removeprefix("\ufeff").replace("\r\n", "\n"))

    before.setdefault("providers", {}).setdefault("groq", {})["api_key"] = "env:NEW"
    assert after == before
    assert content.startswith("\ufeff") is text.startswith("\ufeff")
    assert ("\r\n" in content) is ("\r\n" in text)


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "config.toml"
    target.write_text(CONFIG, "utf-8")
    link = tmp_path / "config.toml"
    link.symlink_to(target)
    ConfigurationFile(link).set("groq", {"api_key": "env:NEW"})

    assert link.is_symlink()
    assert "env:NEW" in target.read_text("utf-8")


def test_a_file_that_another_program_changes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG, "utf-8")
    file = ConfigurationFile(path)
    path.write_text("# other\n", "utf-8")

    with pytest.raises(ConfigError, match=r"Another program changed .* in the meantime"):
        file.set("groq", {"api_key": "env:NEW"})
    assert path.read_text("utf-8") == "# other\n"
