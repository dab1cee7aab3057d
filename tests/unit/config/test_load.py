"""Reading the configuration file: where it is looked for, and what is said when it is wrong."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import Config, load_config
from jumpseat.config.paths import config_file, data_dir, state_dir

CANARY = "sk-canary-4711-never-shown"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def loaded(tmp_path: Path, text: str) -> Config:
    return load_config(write(tmp_path / "config.toml", text), None)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert caught.value.message.endswith(".")
    return caught.value.message


@pytest.fixture
def unreadable(tmp_path: Path) -> Iterator[Path]:
    path = write(tmp_path / "secret.toml", f'key = "{CANARY}"')
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read any file")
    yield path
    path.chmod(0o600)


def test_a_missing_file_is_fine(home: Path) -> None:
    assert load_config(None, None) == Config()


def test_the_home_directory_holds_the_file(home: Path) -> None:
    write(home / "config.toml", 'default_provider = "home"')

    assert load_config(None, None).default_provider == "home"


def test_the_named_environment_variable_comes_before_the_home_directory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "config.toml", 'default_provider = "home"')
    monkeypatch.setenv("JUMPSEAT_CONFIG", str(write(tmp_path / "named.toml", 'default_provider = "named"')))

    assert load_config(None, None).default_provider == "named"


def test_the_command_line_comes_before_everything(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUMPSEAT_CONFIG", str(write(tmp_path / "named.toml", 'default_provider = "named"')))
    flag = write(tmp_path / "flag.toml", 'default_provider = "flag"')

    assert load_config(flag, None).default_provider == "flag"


def test_a_file_that_the_command_line_names_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml does not exist"):
        load_config(tmp_path / "nowhere.toml", None)


def test_one_home_directory_holds_configuration_state_and_data(home: Path) -> None:
    assert (config_file(), state_dir(), data_dir()) == (home / "config.toml", home, home)


def test_without_a_home_directory_the_platform_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUMPSEAT_HOME", raising=False)
    monkeypatch.delenv("JUMPSEAT_CONFIG", raising=False)

    assert config_file().parts[-2:] == ("jumpseat", "config.toml")
    assert state_dir().is_absolute()
    assert data_dir().is_absolute()


def test_a_tilde_is_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPSEAT_CONFIG", "~/x.toml")

    assert config_file() == Path.home() / "x.toml"


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
def test_bad_toml_names_the_file_and_the_line_and_no_value(tmp_path: Path, text: str) -> None:
    message = refusal(tmp_path, text)

    assert str(tmp_path / "config.toml") in message
    assert "line" in message or "end of document" in message
    assert "canary" not in message


def test_a_file_that_is_no_text_is_told_by_name(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b'key = "' + CANARY.encode() + b'\xff"')

    with pytest.raises(ConfigError, match=r"config\.toml cannot be read") as caught:
        load_config(path, None)
    assert "canary" not in caught.value.message


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path, None)


def test_a_file_that_may_not_be_read_is_told_by_name(unreadable: Path) -> None:
    with pytest.raises(ConfigError, match=r"secret\.toml cannot be read") as caught:
        load_config(unreadable, None)
    assert "canary" not in caught.value.message


@pytest.mark.requirement("6:config")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("default_provider = 4711", "default_provider"),
        (f'providers = "{CANARY}"', "providers"),
        (f'providers.x = "{CANARY}"', "providers.x"),
        (f'[providers.x]\napi_key = ["{CANARY}"]', "providers.x.api_key"),
        ('[providers.x]\napi_key = ""', "providers.x.api_key"),
        (f'[providers.x]\nbase_url = "{CANARY}"', "providers.x.base_url"),
        (f'[providers.x]\nbase_url = "ftp://{CANARY}"', "providers.x.base_url"),
        (f'[providers.x]\nheaders = "{CANARY}"', "providers.x.headers"),
        (f'[providers.x.headers]\nAuthorization = ["{CANARY}"]', "providers.x.headers.Authorization"),
        (f'[providers.x]\nmodels = "{CANARY}"', "providers.x.models"),
        (f'[providers.x]\nmodels = ["a", ["{CANARY}"]]', "providers.x.models.1"),
        (f'[providers.x]\ntimeout = "{CANARY}"', "providers.x.timeout"),
        ("[providers.x]\ntimeout = 0", "providers.x.timeout"),
        ("[providers.x]\nmax_retries = 11", "providers.x.max_retries"),
        ("[providers.x]\nmax_retries = true", "providers.x.max_retries"),
        (f'[providers.x.capabilities]\nvision = "{CANARY}"', "providers.x.capabilities.vision"),
        (f'[providers.x.settings.t]\ntype = "{CANARY}"', "providers.x.settings.t.type"),
        ("[providers.x.settings.t]\norder = 1", "providers.x.settings.t.type"),
        (
            f'[providers.x.settings.t]\ntype = "number"\nminimum = "{CANARY}"',
            "providers.x.settings.t.minimum",
        ),
        (f'settings = "{CANARY}"', "settings"),
    ],
)
def test_a_wrong_value_names_the_file_and_the_key_and_is_not_repeated(
    tmp_path: Path, text: str, key: str
) -> None:
    message = refusal(tmp_path, text)

    assert message.startswith(f"{tmp_path / 'config.toml'}: {key}: ")
    assert "canary" not in message
    assert "4711" not in message


def test_whole_numbers_are_numbers(tmp_path: Path) -> None:
    table = loaded(
        tmp_path, "[providers.x]\ntimeout = 5\n[providers.x.settings.t]\ntype='number'\nmaximum = 2"
    )

    assert table.providers["x"].timeout == 5
    assert table.providers["x"].settings["t"].maximum == 2


@pytest.mark.requirement("7:unknown-keys")
def test_unknown_keys_are_warned_about_with_their_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        config = loaded(
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

    assert config.unknown_keys() == [
        "defualt_provider",
        "providers.x.api_kye",
        "providers.x.capabilities.smell",
        "providers.x.settings.t.maximun",
    ]
    warned = [record.getMessage() for record in caplog.records]
    assert len(warned) == 4
    for path, line in zip(config.unknown_keys(), warned, strict=True):
        assert path in line
    assert "canary" not in caplog.text


def test_a_provider_shows_no_key_and_no_header_in_its_repr(tmp_path: Path) -> None:
    text = f'[providers.x]\napi_key = "{CANARY}"\n[providers.x.headers]\nX-Key = "{CANARY}"'

    assert "canary" not in repr(loaded(tmp_path, text))
