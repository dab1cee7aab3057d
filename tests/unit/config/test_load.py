"""Loading the configuration file: its path, and the errors for invalid files."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import Config, FaultyConfigError, load_config
from jumpseat.config.own_keys import unknown_keys
from jumpseat.system.environment import environment_of_process
from jumpseat.system.paths import Places, places_of_process

CANARY = "sk-canary-4711-never-shown"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def load(tmp_path: Path, text: str) -> Config:
    return load_config(write(tmp_path / "config.toml", text), None)


def refusal(tmp_path: Path, text: str) -> str:
    """Load this file, which is rejected, and return the message of the error."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.message.endswith(".")
    return caught.value.message


def faults(tmp_path: Path, text: str) -> list[str]:
    return [str(fault) for each in load(tmp_path, text).faults.values() for fault in each]


@pytest.fixture
def unreadable(tmp_path: Path) -> Iterator[Path]:
    path = write(tmp_path / "secret.toml", f'key = "{CANARY}"')
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read any file")
    yield path
    path.chmod(0o600)


def test_an_unknown_key_next_to_a_wrong_value_is_logged_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load(tmp_path, "modle = 1\n[providers.x]\ntimeout = -1\ntimeuot = 2\n")

    logged = [record.message.partition("config.toml:")[2] for record in caplog.records]
    assert [each.rpartition(": ")[0] for each in logged] == [
        "3: providers.x.timeout",
        "1: modle",
        "4: providers.x.timeuot",
    ]


def test_a_missing_file_is_not_a_fault(home: Path) -> None:
    assert load_config(None, None, environment=environment_of_process()).model_dump() == Config().model_dump()


def test_the_file_is_in_the_home_directory(home: Path) -> None:
    write(home / "config.toml", 'default_provider = "home"')

    assert load_config(None, None, environment=environment_of_process()).default_provider == "home"


def test_the_file_that_the_environment_names_precedes_the_home_directory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "config.toml", 'default_provider = "home"')
    monkeypatch.setenv("JUMPSEAT_CONFIG", str(write(tmp_path / "named.toml", 'default_provider = "named"')))

    assert load_config(None, None, environment=environment_of_process()).default_provider == "named"


def test_the_file_that_the_command_line_names_precedes_all_others(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUMPSEAT_CONFIG", str(write(tmp_path / "named.toml", 'default_provider = "named"')))
    flag = write(tmp_path / "flag.toml", 'default_provider = "flag"')

    assert load_config(flag, None).default_provider == "flag"


def test_a_file_that_the_command_line_names_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml does not exist"):
        load_config(tmp_path / "nowhere.toml", None)


def test_one_home_directory_contains_configuration_state_and_data(home: Path) -> None:
    assert places_of_process() == Places(home / "config.toml", home, home)


def test_without_a_home_directory_the_platforms_directories_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUMPSEAT_HOME", raising=False)
    monkeypatch.delenv("JUMPSEAT_CONFIG", raising=False)

    places = places_of_process()

    assert places.config_file.parts[-2:] == ("jumpseat", "config.toml")
    assert all(place.is_absolute() and "jumpseat" in place.parts for place in places)


def test_a_tilde_is_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPSEAT_CONFIG", "~/x.toml")

    assert places_of_process().config_file == Path.home() / "x.toml"


@pytest.mark.parametrize(
    "text",
    [
        f"[providers.x]\napi_key = {CANARY}",
        f'[providers.x]\napi_key = "{CANARY}',
        f'[providers.x]\napi_key = "{CANARY}"\napi_key = "{CANARY}"',
        f'[providers.x]\napi_key = "{CANARY}" trailing',
        f'[providers.x]\napi_key = """{CANARY}',
    ],
)
def test_the_error_for_invalid_toml_names_file_and_line_but_not_values(tmp_path: Path, text: str) -> None:
    message = refusal(tmp_path, text)

    assert str(tmp_path / "config.toml") in message
    assert "line" in message or "end of document" in message
    assert "canary" not in message


def test_a_file_that_is_not_text_is_reported_by_name(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b'key = "' + CANARY.encode() + b'\xff"')

    with pytest.raises(ConfigError, match=r"config\.toml cannot be read") as caught:
        load_config(path, None)
    assert "canary" not in caught.value.message


def test_a_directory_is_not_read_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path, None)


def test_a_file_that_may_not_be_read_is_reported_by_name(unreadable: Path) -> None:
    with pytest.raises(ConfigError, match=r"secret\.toml cannot be read") as caught:
        load_config(unreadable, None)
    assert "canary" not in caught.value.message


@pytest.mark.requirement("6:config", "7:file-errors")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("default_provider = 4711", "default_provider"),
        (f'providers = "{CANARY}"', "providers"),
        (f'settings = "{CANARY}"', "settings"),
    ],
)
def test_a_wrong_value_outside_the_providers_is_an_error_without_the_value(
    tmp_path: Path, text: str, key: str
) -> None:
    message = refusal(tmp_path, text)

    assert message.startswith(f"{tmp_path / 'config.toml'}:1: {key}: must be ")
    assert "canary" not in message
    assert "4711" not in message


@pytest.mark.requirement("6:config", "7:file-errors")
@pytest.mark.parametrize(
    ("text", "line", "key", "rule"),
    [
        (f'providers.x = "{CANARY}"', 1, "providers.x", "must be a table"),
        (f'[providers.x]\napi_key = ["{CANARY}"]', 2, "providers.x.api_key", "must be a string"),
        ('[providers.x]\napi_key = ""', 2, "providers.x.api_key", "must not be empty"),
        (f'[providers.x]\nbase_url = "{CANARY}"', 2, "providers.x.base_url", "http:// or https://"),
        (f'[providers.x]\nbase_url = "ftp://{CANARY}"', 2, "providers.x.base_url", "http:// or https://"),
        (f'[providers.x]\nheaders = "{CANARY}"', 2, "providers.x.headers", "must be a table"),
        (
            f'[providers.x]\n[providers.x.headers]\n\nAuthorization = ["{CANARY}"]',
            4,
            "providers.x.headers.Authorization",
            "must be a string",
        ),
        (f'[providers.x]\nmodels = "{CANARY}"', 2, "providers.x.models", "must be an array"),
        (
            f'[providers.x]\nmodels = [\n"a",\n["{CANARY}"]]',
            2,
            "providers.x.models.1",
            "must be a table",
        ),
        ("[providers.x]\ntimeout = '4711'", 2, "providers.x.timeout", "must be a number"),
        ("[providers.x]\ntimeout = 0", 2, "providers.x.timeout", "must be greater than 0"),
        ("[providers.x]\nmax_retries = 11", 2, "providers.x.max_retries", "must be at most 10"),
        ("[providers.x]\nmax_retries = true", 2, "providers.x.max_retries", "must be an integer"),
        (
            f'[providers.x.capabilities]\nvision = "{CANARY}"',
            2,
            "providers.x.capabilities.vision",
            "must be true or false",
        ),
        (
            f'[providers.x.settings.t]\ntype = "{CANARY}"',
            2,
            "providers.x.settings.t.type",
            "must be one of 'string', 'number'",
        ),
        ("[providers.x.settings.t]\norder = 1", 1, "providers.x.settings.t.type", "is missing"),
        (
            f'[providers.x.settings.t]\ntype = "number"\nminimum = "{CANARY}"',
            3,
            "providers.x.settings.t.minimum",
            "must be a number",
        ),
        (
            "[providers.x]\nquery = { a = [4711] }",
            2,
            "providers.x.query.a",
            "must be a string, or an integer",
        ),
        (f'[providers.x]\nurl = "{CANARY}"', 2, "providers.x.url", "http:// or https://"),
        ('["providers"."a:b"]\nkind = "openai"', 1, "providers.a:b", "not contain colons"),
    ],
)
def test_a_wrong_value_is_reported_by_file_line_key_and_rule_only(
    tmp_path: Path, text: str, line: int, key: str, rule: str
) -> None:
    (message,) = faults(tmp_path, text)

    assert message.startswith(f"{tmp_path / 'config.toml'}:{line}: {key}: ")
    assert rule in message
    assert "canary" not in message
    assert "4711" not in message


TWO_ARE_WRONG = """default_provider = "good"
[providers.good]
kind = "openai"

[providers.bad]
kind = "openai"
timeout = -1
base_url = "nowhere"
[providers.worse]
kind = 3
"""


@pytest.mark.requirement("7:file-errors")
def test_a_wrong_table_affects_its_provider_only_and_all_its_faults_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = load(tmp_path, TWO_ARE_WRONG)

    assert (list(config.providers), config.default_provider) == (["good"], "good")
    assert {name: [fault.line for fault in each] for name, each in config.faults.items()} == {
        "bad": [7, 8],
        "worse": [10],
    }
    error = FaultyConfigError(config.faults["bad"], "bad")
    assert error.message.endswith(":7: providers.bad.timeout: must be greater than 0.")
    assert "providers.bad.base_url" in (error.hint or "")
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 3


@pytest.mark.requirement("7:file-errors")
def test_all_faults_of_a_rejected_file_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, 'default_model = 1\n\n[providers.x]\nkind = 2\n[settings]\n"a" = 1\n')
    assert ":1: default_model: must be a string." in caught.value.message
    assert ":4: providers.x.kind: must be a string." in (caught.value.hint or "")


@pytest.mark.requirement("7:trust")
def test_a_client_cannot_define_the_provider_whose_table_is_wrong(tmp_path: Path) -> None:
    file = write(tmp_path / "config.toml", TWO_ARE_WRONG)

    with pytest.raises(ConfigError, match=r"providers\.bad\.base_url may not be changed"):
        load_config(file, {"providers": {"bad": {"base_url": "http://127.0.0.1:9"}}})
    config = load_config(file, {"providers": {"bad": {"default_model": "m"}, "new": {"kind": "openai"}}})
    assert (list(config.providers), sorted(config.faults)) == (["good", "new"], ["bad", "worse"])
    assert config.from_client == {"new"}


def test_integers_are_accepted_as_numbers(tmp_path: Path) -> None:
    config = load(
        tmp_path, "[providers.x]\ntimeout = 5\n[providers.x.settings.t]\ntype='number'\nmaximum = 2"
    )

    assert config.providers["x"].timeout == 5
    assert config.providers["x"].settings["t"].maximum == 2


@pytest.mark.requirement("7:unknown-keys")
def test_unknown_keys_are_warned_about_with_their_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        config = load(
            tmp_path,
            """
            defualt_provider = "x"
            [providers.x]
            kind = "openai"
            api_kye = "sk-canary"
            parameters = { anything = 1 }
            [providers.x.capabilities]
            smell = true
            [providers.x.settings.t]
            type = "number"
            maximun = 2
            """,
        )

    assert [unknown.key for unknown in unknown_keys(config, None)] == [
        "defualt_provider",
        "providers.x.api_kye",
        "providers.x.capabilities.smell",
        "providers.x.settings.t.maximun",
    ]
    file = tmp_path / "config.toml"
    warned = [record.getMessage() for record in caplog.records]
    assert warned == [
        f"{file}:2: defualt_provider: unknown key, which is ignored; did you mean default_provider?",
        f"{file}:5: providers.x.api_kye: unknown key, which is ignored; did you mean api_key?",
        f"{file}:8: providers.x.capabilities.smell: unknown key, which is ignored",
        f"{file}:11: providers.x.settings.t.maximun: unknown key, which is ignored; did you mean maximum?",
    ]


@pytest.mark.requirement("7:parameters")
@pytest.mark.parametrize("name", ["input", "instructions", "messages", "model", "stream"])
def test_members_of_the_request_body_that_each_chat_sets_are_faults(tmp_path: Path, name: str) -> None:
    (fault,) = load(tmp_path, f"[providers.x.parameters]\na = 1\n{name} = []").faults["x"]
    assert str(fault).removeprefix(f"{tmp_path / 'config.toml'}:") == (
        f"3: providers.x.parameters.{name}: cannot be set, because each chat sets it"
    )
    row = f'[providers.x.settings.{name}]\ntype = "list"'
    (fault,) = load(tmp_path, row).faults["x"]
    assert fault.message == f"{name} cannot be a setting, because each chat sets it"


@pytest.mark.requirement("7:parameters-joined")
@pytest.mark.parametrize("name", ["include", "tools"])
def test_a_list_that_is_joined_must_be_an_array(tmp_path: Path, name: str) -> None:
    (fault,) = load(tmp_path, f"[providers.x.parameters]\n{name} = {{}}").faults["x"]
    assert fault.message == f"{name} must be an array"
    (fault,) = load(tmp_path, f'[providers.x.settings.{name}]\ntype = "map"').faults["x"]
    assert fault.message == f"{name} must be of the type list"


def test_the_repr_of_a_provider_does_not_show_keys_or_headers(tmp_path: Path) -> None:
    text = f'[providers.x]\napi_key = "{CANARY}"\n[providers.x.headers]\nX-Key = "{CANARY}"'

    assert "canary" not in repr(load(tmp_path, text))
