"""The program, arguments and environment of the language server's process."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base import read_options
from jumpseat.adapters.github.language_server.command import (
    PROGRAM,
    build_environment,
    check_command,
    directory_of,
    find_command,
)
from jumpseat.adapters.github.language_server.options import LanguageServerOptions
from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig, Values, load_config
from jumpseat.providers import KINDS
from jumpseat.system.environment import environment_of_process
from jumpseat.system.secrets import redact, register_secret
from tests.environments import environment_with

INSTALL_LINE = "npm install -g @github/copilot-language-server"
SECRET = "sk-of-another-provider-0815"

pytestmark = pytest.mark.requirement("language-server:command")


def write_program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def load_table(home: Path, text: str) -> ProviderConfig:
    """Return the table `cls` as the daemon reads it from a file."""
    (home / "config.toml").write_text(f'[providers.cls]\nkind = "copilot-language-server"\n{text}\n', "utf-8")
    config = load_config(None, None, environment=environment_of_process(), kinds=KINDS)
    assert not config.faults, config.faults
    return config.providers["cls"]


def fault(home: Path, text: str) -> str:
    """Return the only fault of the table `cls` in a file."""
    (home / "config.toml").write_text(f'[providers.cls]\nkind = "copilot-language-server"\n{text}\n', "utf-8")
    (found,) = load_config(None, None, environment=environment_of_process(), kinds=KINDS).faults["cls"]
    return str(found)


def environment(
    config: ProviderConfig, environ: Mapping[str, str], *, withheld: Collection[str] = ()
) -> dict[str, str]:
    """Return the environment of the server's process if other providers use `withheld` and `SECRET`."""
    of_client = environment_with(environ)
    of_client.withhold(register_secret(SECRET))
    of_client.withheld.update(config.origin.environment.withheld, withheld)
    config.set_environment(of_client)
    return asyncio.run(build_environment("cls", config, Values("cls", config)))


# -- the program


@pytest.mark.skipif(sys.platform == "win32", reason="uses a shell script")
def test_the_default_command_is_the_program_on_the_path(home: Path, tmp_path: Path) -> None:
    program = write_program(tmp_path / "bin" / PROGRAM)
    environ = {"PATH": f"{tmp_path / 'none'}{os.pathsep}{program.parent}"}
    config = load_table(home, "").set_environment(environment_with(environ))
    assert find_command("cls", config) == [
        str(program),
        "--stdio",
    ]


@pytest.mark.parametrize("path", [None, "", ".", "nowhere"])
def test_a_missing_program_is_reported_with_the_command_that_installs_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    # A program in the working directory must not run, because that directory may be a workspace.
    write_program(tmp_path / PROGRAM)
    monkeypatch.chdir(tmp_path)
    environ = {} if path is None else {"PATH": path}
    monkeypatch.setenv("PATH", os.fspath(tmp_path / "none"))
    with pytest.raises(ConfigError) as caught:
        find_command("cls", load_table(home, "").set_environment(environment_with(environ)))
    assert caught.value.provider == "cls"
    assert PROGRAM in caught.value.message
    assert INSTALL_LINE in (caught.value.hint or "")
    assert "providers.cls.command" in (caught.value.hint or "")


@pytest.mark.parametrize("command", ["'/nowhere/server --stdio'", "'no-such-program-anywhere'", "['./none']"])
def test_a_configured_program_that_does_not_exist_is_reported_with_its_key(home: Path, command: str) -> None:
    with pytest.raises(ConfigError, match=r"providers\.cls\.command names .* does not exist") as caught:
        find_command("cls", load_table(home, f"command = {command}"))
    assert "--stdio" not in caught.value.message
    assert INSTALL_LINE in (caught.value.hint or "")


@pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX permissions")
@pytest.mark.parametrize("name", ["package", "text"])
def test_a_file_that_is_not_a_program_is_reported_as_such(home: Path, name: str) -> None:
    (home / "package").mkdir()
    (home / "text").write_text("", "utf-8")
    with pytest.raises(ConfigError, match=r"providers\.cls\.command names .* not a program") as caught:
        check_command("cls", load_table(home, f"command = ['./{name}']"))
    assert "executable" in (caught.value.hint or "")


@pytest.mark.skipif(sys.platform == "win32", reason="uses a shell script")
def test_a_command_is_a_shell_line_or_an_array(home: Path, tmp_path: Path) -> None:
    program = write_program(tmp_path / "my programs" / "server")
    line = f"""command = '"{program}" --flag "a b" $HOME'"""
    words = f"command = {[str(program), '--flag', 'a b', '$HOME']}"
    for text in (line, words):
        assert find_command("cls", load_table(home, text)) == [
            str(program),
            "--flag",
            "a b",
            "$HOME",
            "--stdio",
        ]


@pytest.mark.skipif(sys.platform == "win32", reason="uses a shell script")
def test_stdio_is_passed_once(home: Path, tmp_path: Path) -> None:
    program = write_program(tmp_path / "server")
    config = load_table(home, f"command = ['{program}', '--stdio', '--debug']")
    assert find_command("cls", config) == [str(program), "--stdio", "--debug"]


@pytest.mark.skipif(sys.platform == "win32", reason="uses a shell script")
def test_a_relative_path_starts_at_the_configuration_and_a_tilde_at_the_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, own = write_program(home / "bin" / "server"), write_program(tmp_path / "me" / "server")
    monkeypatch.setenv("HOME", str(own.parent))
    monkeypatch.chdir(tmp_path)
    assert find_command("cls", load_table(home, "command = 'bin/server'"))[0] == str(beside)
    assert find_command("cls", load_table(home, "command = '~/server'"))[0] == str(own)
    assert directory_of(load_table(home, "")) == home
    monkeypatch.setenv("JUMPSEAT_HOME", str(tmp_path / "not" / "there"))
    assert directory_of(ProviderConfig().set_environment(environment_of_process())) == Path(tmp_path.anchor)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("5", "must be an array"),
        ("''", "must not be empty"),
        ("[]", "must not be empty"),
        ("['']", "must not be empty"),
        ("[1]", "must be a string"),
        ("""'a "b'""", "must be a command line with matching quotes"),
    ],
)
def test_a_malformed_command_is_a_fault_of_the_table(home: Path, value: str, rule: str) -> None:
    text = fault(home, f"command = {value}")
    assert "providers.cls.command" in text
    assert rule in text


def test_chat_api_has_one_of_three_values(home: Path) -> None:
    def chat_api(text: str) -> str:
        return read_options(LanguageServerOptions, "cls", load_table(home, text)).chat_api

    assert chat_api("") == "auto"
    assert chat_api("chat_api = 'completion'") == "completion"
    assert "must be one of 'auto', 'conversation' or 'completion'" in fault(home, "chat_api = 'chat'")


@pytest.mark.requirement("language-server:overlay")
def test_a_table_from_a_workspace_cannot_start_a_program(home: Path) -> None:
    (home / "config.toml").write_text("", "utf-8")
    overlay = {"providers": {"cls": {"kind": "copilot-language-server"}}}
    config = load_config(None, overlay, environment=environment_of_process(), kinds=KINDS).providers["cls"]
    with pytest.raises(ConfigError, match="workspace") as caught:
        find_command("cls", config)
    assert "configuration file" in (caught.value.hint or "")


@pytest.mark.requirement("language-server:overlay")
def test_a_workspace_cannot_name_a_program(home: Path) -> None:
    (home / "config.toml").write_text("", "utf-8")
    overlay = {"providers": {"cls": {"kind": "copilot-language-server", "command": ["sh"]}}}
    with pytest.raises(ConfigError, match=r"providers\.cls\.command names a program"):
        load_config(None, overlay, environment=environment_of_process(), kinds=KINDS)


# -- the environment


@pytest.mark.requirement("language-server:environment")
def test_the_process_gets_the_environment_without_keys_of_other_providers(home: Path) -> None:
    kept = {"PATH": "/bin", "HOME": "/h", "HTTPS_PROXY": "http://proxy:1", "XDG_CONFIG_HOME": "/x"}
    others = {
        "OPENAI_API_KEY": "a",
        "ANTHROPIC_API_KEY": "b",
        "GH_TOKEN": "c",
        "GITHUB_TOKEN": "d",
        "COPILOT_GITHUB_TOKEN": "e",
        "MY_CORPORATE_SECRET": "f",
        "SOMETHING": SECRET,
    }
    table = load_table(home, "")
    assert environment(table, {**kept, **others}, withheld={"MY_CORPORATE_SECRET"}) == kept


@pytest.mark.requirement("language-server:environment")
def test_the_process_gets_the_servers_own_variables_and_secrets(home: Path) -> None:
    own = {
        "GH_COPILOT_TOKEN": SECRET,
        "GITHUB_COPILOT_TOKEN": "t",
        "GH_COPILOT_SERVER_URL": "http://127.0.0.1:1",
        "GITHUB_COPILOT_AUTH_TOKEN_ENCRYPTION": "false",
    }
    assert environment(load_table(home, ""), own, withheld={"GH_COPILOT_TOKEN"}) == own


@pytest.mark.requirement("language-server:no-secrets")
def test_the_servers_token_in_the_environment_is_redacted_in_any_format(
    home: Path,
) -> None:
    token, place = "a-token-like-no-other-0816", "http://copilot-proxy.example.com"
    environment(load_table(home, ""), {"GH_COPILOT_TOKEN": token, "GH_COPILOT_SERVER_URL": place})
    assert redact(f"{token} for {place}") == f"*** for {place}"


@pytest.mark.requirement("language-server:environment")
def test_the_tables_env_takes_precedence_and_its_sources_are_resolved(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN_FOR_IT", SECRET)
    (home / "user").write_text("octocat\n", "utf-8")
    text = """
    [providers.cls.env]
    GH_COPILOT_TOKEN = "env:MY_TOKEN_FOR_IT"
    GH_COPILOT_USER = "file:user"
    GREETING = "Hello ${GH_COPILOT_USER}"
    XDG_CONFIG_HOME = "/plain"
    """
    found = environment(load_table(home, text), {"XDG_CONFIG_HOME": "/x", "MY_TOKEN_FOR_IT": SECRET})
    assert found == {
        "GH_COPILOT_TOKEN": SECRET,
        "GH_COPILOT_USER": "octocat",
        "GREETING": "Hello octocat",
        "XDG_CONFIG_HOME": "/plain",
    }


@pytest.mark.requirement("language-server:environment")
@pytest.mark.parametrize(
    ("platform", "expected"),
    [("win32", {"HTTPS_PROXY": "mine"}), ("linux", {"HTTPS_PROXY": "users", "https_proxy": "mine"})],
)
def test_the_tables_env_replaces_a_variable_of_another_case_on_windows(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, expected: Mapping[str, str]
) -> None:
    config = load_table(home, 'env = { https_proxy = "mine" }')
    monkeypatch.setattr(sys, "platform", platform)
    assert environment(config, {"HTTPS_PROXY": "users"}) == expected


def test_an_unresolved_value_of_env_is_reported_with_its_key(home: Path) -> None:
    config = load_table(home, 'env = { GH_COPILOT_TOKEN = "env:NOT_SET_ANYWHERE" }')
    with pytest.raises(ConfigError, match=r"providers\.cls\.env\.GH_COPILOT_TOKEN is env:NOT_SET_ANYWHERE"):
        environment(config, {})


@pytest.mark.requirement("language-server:environment")
@pytest.mark.parametrize(("value", "expected"), [("~/ca.pem", "ca.pem"), ("/etc/ca.pem", None)])
def test_a_ca_file_is_passed_as_nodes_extra_certificates(home: Path, value: str, expected: Any) -> None:
    path = str(home / expected) if expected else str(Path(value).absolute())
    own = {"HOME": str(home), "USERPROFILE": str(home)}
    found = environment(load_table(home, f"ca_file = '{value}'"), own)
    assert found == {**own, "NODE_EXTRA_CA_CERTS": path}


def test_a_relative_ca_file_is_refused(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"providers\.cls\.ca_file is a relative path"):
        environment(load_table(home, "ca_file = 'ca.pem'"), {})
