"""The local checks of `config check` find what is missing on this machine, without running any program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jumpseat.chat import AuthenticationError, ConfigError, RequestError
from jumpseat.config import load_config
from jumpseat.providers import Registry, resolve_model
from jumpseat.providers.checkup import Checkup, check_file
from jumpseat.system.environment import environment_of_process
from tests.unit.providers.plugged import GOOD, Install

pytestmark = pytest.mark.requirement("7:file-errors")

SERVER = '[providers.official]\nkind = "copilot-language-server"\n'
INSTALL_SERVER = "npm install -g @github/copilot-language-server"


@pytest.fixture(autouse=True)
def bare_machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine without programs and without the local model."""
    monkeypatch.setenv("PATH", str(home / "bin"))
    monkeypatch.setattr("jumpseat.adapters.local.model.PACKAGE", "llm_that_is_not_installed")


async def check(home: Path, text: str) -> Checkup:
    file = home / "config.toml"
    file.write_text(text, "utf-8")
    return await check_file(file, environment_of_process())


@pytest.mark.requirement("language-server:command")
async def test_a_missing_language_server_is_reported_with_the_command_that_installs_it(
    home: Path,
) -> None:
    found = await check(home, SERVER)

    (fault,) = found.errors
    assert (fault.key, fault.line) == ("providers.official", 1)
    assert "copilot-language-server is not on the PATH" in fault.message
    assert INSTALL_SERVER in fault.message
    assert found.warnings == []


@pytest.mark.requirement("language-server:command")
async def test_a_command_that_does_not_exist_is_reported_at_its_key(home: Path) -> None:
    (fault,) = (await check(home, f'{SERVER}timeout = 9\ncommand = "./none"')).errors

    assert (fault.key, fault.line) == ("providers.official.command", 4)
    assert fault.message.startswith("names ./none, which does not exist. Install it with")


@pytest.mark.requirement("language-server:command")
@pytest.mark.skipif(sys.platform == "win32", reason="uses a POSIX script")
async def test_an_existing_program_is_not_run(home: Path) -> None:
    program = home / "bin" / "copilot-language-server"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {home}/was-run\n", "utf-8")
    program.chmod(0o755)
    found = await check(home, SERVER)

    assert (found.errors, found.warnings) == ([], [])
    assert not (home / "was-run").exists()


@pytest.mark.requirement("language-server:command")
async def test_keys_that_the_language_server_ignores_are_warned_of(home: Path) -> None:
    keys = ['api_key = "canary"', 'headers = { a = "b" }', "connect_timeout = 3", "timeout = 3"]
    found = await check(home, SERVER + "\n".join([f"command = ['{sys.executable}']", *keys]))

    assert found.errors == []
    assert [(fault.key, fault.line) for fault in found.warnings] == [
        ("providers.official.api_key", 4),
        ("providers.official.headers", 5),
        ("providers.official.connect_timeout", 6),
    ]
    assert all("makes its own requests" in fault.message for fault in found.warnings)


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a = 1\n[providers.local]\n", "providers.local", 2),
        ('default_provider = "local"', "default_provider", 1),
    ],
)
async def test_a_local_model_that_is_configured_and_not_installed_is_reported(
    home: Path, text: str, key: str, line: int
) -> None:
    (fault,) = (await check(home, text)).errors

    assert (fault.key, fault.line) == (key, line)
    assert "jumpseat local install" in fault.message


async def test_a_built_in_provider_that_the_file_omits_is_not_a_fault(home: Path) -> None:
    found = await check(home, 'default_provider = "copilot"')

    assert (found.errors, found.warnings) == ([], [])


async def test_a_model_file_that_does_not_exist_is_reported_at_its_key(home: Path) -> None:
    (fault,) = (await check(home, '[providers.x]\nkind = "local"\nmodel_path = "/none/m.gguf"')).errors

    assert (fault.key, fault.line) == ("providers.x.model_path", 3)


async def test_an_invalid_host_is_reported_at_its_key_with_a_valid_example(home: Path) -> None:
    (fault,) = (await check(home, '[providers.x]\nkind = "copilot"\nhost = "a/b"')).errors

    assert (fault.key, fault.line) == ("providers.x.host", 3)
    assert '"github.com"' in fault.message


async def test_every_mistake_of_a_table_is_reported(home: Path) -> None:
    text = """\
[providers.a]
kind = "copilot"
host = "a/b"
github_url = "ftp://x"
api_url = "ftp://y"
timeout = 0
[providers.b]
kind = "opneai"
timeout = 0
[providers.c]
timeout = 0
[providers.d]
kind = "openai"
base_url = "https://${one}/${two}"
ca_file = "/none/ca.pem"
client_cert = { cert = "/none/cert.pem" }
headers = { A = "cmd:", B = "file:" }
[prompts.p]
text = 3
model = "opneai:x"
"""
    found = await check(home, text)

    assert [(fault.line, fault.key) for fault in found.errors] == [
        (3, "providers.a.host"),
        (4, "providers.a.github_url"),
        (5, "providers.a.api_url"),
        (6, "providers.a.timeout"),
        (8, "providers.b.kind"),
        (9, "providers.b.timeout"),
        (10, "providers.c.kind"),
        (11, "providers.c.timeout"),
        (14, "providers.d.base_url"),
        (15, "providers.d.ca_file"),
        (16, "providers.d.client_cert"),
        (17, "providers.d.headers.A"),
        (17, "providers.d.headers.B"),
        (19, "prompts.p.text"),
        (20, "prompts.p.model"),
    ]
    assert "uses ${one} and ${two}, which neither env nor this table" in found.errors[8].message


@pytest.mark.requirement("7:plugins")
async def test_a_plug_in_reports_what_it_needs_and_what_it_ignores(home: Path, install: Install) -> None:
    body = """
    def check(self):
        if self.provider_name == "bad":
            raise ConfigError("providers.bad.model_path: there is no such file.", hint="Make one.")
        return ["providers.good.proxy: is not used here.", "All else is well."]
"""
    install(GOOD + body)
    tables = (
        '[providers.good]\nkind = "acme"\nproxy = "none"\n[providers.bad]\nkind = "acme"\nmodel_path = "x"\n'
    )
    found = await check(home, tables)

    assert [(fault.key, fault.line, fault.message) for fault in found.errors] == [
        ("providers.bad.model_path", 6, "there is no such file. Make one")
    ]
    assert [(fault.key, fault.line, fault.message) for fault in found.warnings] == [
        ("providers.good", 1, "All else is well"),
        ("providers.good.proxy", 3, "is not used here"),
    ]


async def test_hints_name_the_file_that_was_read_and_fit_every_front_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNSET_KEY", raising=False)
    file = tmp_path / "other.toml"
    file.write_text("", "utf-8")
    with pytest.raises(AuthenticationError) as unready:
        await resolve_model(Registry(load_config(file, None)), None)
    file.write_text('[providers.a]\nkind = "openai"\napi_key = "env:UNSET_KEY"', "utf-8")
    registry = Registry(load_config(file, None))
    with pytest.raises(RequestError) as unknown:
        registry.table("c")
    with pytest.raises(ConfigError) as configured:
        await registry.account("a").sign_out()
    with pytest.raises(ConfigError, match="UNSET_KEY is not set") as unset:
        await registry.list_models("a")

    for caught in (unready, unknown, configured):
        assert str(file) in (caught.value.hint or "")
    assert unset.value.hint == (
        "Set UNSET_KEY in the environment that jumpseat is started in, and start it again."
    )


@pytest.mark.requirement("7:prompts")
async def test_the_model_and_the_settings_of_prompts_are_checked(home: Path) -> None:
    table = "[providers.mine]\nkind = 'openai'\nbase_url = 'http://localhost:1/v1'\ndefault_model = 'm'\n"
    prompts = (
        "[prompts.a]\ntext = 'x'\nmodel = 'mnie:m'\n"
        "[prompts.b]\ntext = 'x'\nmodel = 'mine:m'\nsettings.temperature = 9\nsettings.speed = 1\n"
        "[prompts.c]\ntext = 'x'\nsettings.temperature = 1\n"
    )
    found = await check(home, f"default_provider = 'mine'\n{table}{prompts}")

    faults = [(fault.line, fault.key, fault.message.partition(";")[0]) for fault in found.errors]
    assert faults == [
        (8, "prompts.a.model", "begins with 'mnie', which is not a provider"),
        (12, "prompts.b.settings.temperature", "must be at most 2"),
        (13, "prompts.b.settings.speed", "is not a setting of this provider"),
    ]
