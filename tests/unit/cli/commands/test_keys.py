"""`jumpseat keys`: keys in the keyring or in private files, to which the configuration file refers."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import termios
import tomllib
from pathlib import Path

import pytest

from jumpseat.providers.services import SERVICES
from jumpseat_client import SyncClient
from tests.fakes.terminal import Terminal
from tests.unit.test_recipes import RECIPES

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow]

KEY = "canary-of-a-key-12345"
CONFIG = """\
# My providers.
default_provider = "groq"   # the fast one

[providers.groq]
kind = "openai"
base_url = "https://api.groq.com/openai/v1"
api_key = "env:NOT_SET_KEY" # mine

# The end.
"""


def keys(*arguments: str, piped: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jumpseat", "keys", *arguments],
        input=piped, capture_output=True, text=True, encoding="utf-8", timeout=30, check=False,
    )  # fmt: skip


def source_in(file: Path, provider: str = "groq") -> str:
    """Return a provider's `api_key` in a configuration file, such as `env:NAME`."""
    value = tomllib.loads(file.read_text("utf-8"))["providers"][provider]["api_key"]
    assert isinstance(value, str)
    return value


def path_of(source: str) -> Path:
    """Return the path in an `api_key` that begins with `file:`."""
    return Path(source.removeprefix("file:"))


def test_a_key_is_stored_and_the_file_keeps_comments_and_layout(home: Path) -> None:
    file = home / "config.toml"
    file.write_text(CONFIG, "utf-8")
    file.chmod(0o640)
    done = keys("set", "--file", "groq", piped=f"{KEY}\n")

    assert (done.returncode, done.stdout) == (0, "")
    source = source_in(file)
    assert file.read_text("utf-8") == CONFIG.replace("env:NOT_SET_KEY", source)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert path_of(source).read_text() == f"{KEY}\n"
    assert stat.S_IMODE(path_of(source).stat().st_mode) == 0o600
    assert stat.S_IMODE(path_of(source).parent.stat().st_mode) == 0o700
    assert "canary" not in done.stderr


def test_a_second_key_gets_a_new_file_and_the_first_file_is_deleted(home: Path) -> None:
    file = home / "config.toml"
    assert keys("set", "--file", "groq", piped=KEY).returncode == 0
    first = source_in(file)
    assert keys("set", "--file", "groq", piped="another").returncode == 0

    # A running daemon reads the key again because its source has changed.
    assert source_in(file) != first
    assert path_of(source_in(file)).read_text() == "another\n"
    assert not path_of(first).exists()


def test_the_table_of_a_well_known_provider_is_added(home: Path) -> None:
    assert keys("set", "--file", "groq", piped=KEY).returncode == 0
    table = tomllib.loads((home / "config.toml").read_text("utf-8"))["providers"]["groq"]
    assert {**table, "api_key": "env:GROQ_API_KEY"} == tomllib.loads(RECIPES["groq"])["providers"]["groq"]


def test_the_tables_of_known_services_match_the_recipes() -> None:
    for service in SERVICES.values():
        if not service.table:
            continue
        recipe = tomllib.loads(RECIPES[service.id])["providers"][service.id]
        recipe.pop("parameters", None)  # These are a matter of taste and may differ.
        key = {} if service.variable is None else {"api_key": f"env:{service.variable}"}
        assert {**service.table, **key} == recipe


def test_keys_are_listed_without_being_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET_KEY", KEY)
    rows = {
        "a": "env:SET_KEY", "b": "env:NOT_SET_KEY", "c": KEY, "d": "cmd:pass canary-argument", "e": "SET_KEY",
    }  # fmt: skip
    text = "".join(
        f'[providers.{name}]\nkind = "openai"\napi_key = "{value}"\n' for name, value in rows.items()
    )
    (home / "config.toml").write_text(text, "utf-8")
    assert keys("set", "--file", "groq", piped=KEY).returncode == 0
    done = keys("list")

    assert done.returncode == 0
    assert [line.split("\t") for line in done.stdout.splitlines()[:5]] == [
        ["a", "env:SET_KEY", "set"],
        ["b", "env:NOT_SET_KEY", "not set in this environment"],
        ["c", "***", "in the configuration file itself"],
        ["d", "cmd:pass …", ""],
        ["e", "SET_KEY", "set"],
    ]
    assert done.stdout.splitlines()[5].endswith("\tstored by jumpseat")
    assert "canary" not in done.stdout
    assert len(json.loads(keys("list", "--json").stdout)["keys"]) == 6


def test_removing_a_key_restores_the_source_that_it_replaced(home: Path) -> None:
    file = home / "config.toml"
    file.write_text(CONFIG, "utf-8")
    assert keys("set", "--file", "groq", piped=KEY).returncode == 0
    assert keys("set", "--file", "groq", piped="another").returncode == 0
    stored = path_of(source_in(file))
    done = keys("remove", "groq")

    assert done.returncode == 0
    assert "refers to env:NOT_SET_KEY again" in done.stderr
    assert not stored.exists()
    assert file.read_text("utf-8") == CONFIG
    assert keys("remove", "groq").returncode == 1


def test_a_table_without_a_key_has_none_after_the_removal(home: Path) -> None:
    file = home / "config.toml"
    without = re.sub("api_key.*\n", "", CONFIG)
    file.write_text(without, "utf-8")
    assert keys("set", "--file", "groq", piped=KEY).returncode == 0
    assert json.loads(keys("remove", "groq", "--json").stdout) == {"provider": "groq", "removed": True}
    assert file.read_text("utf-8") == without


def test_a_service_whose_key_is_removed_is_signed_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert keys("set", "--file", "groq", piped=KEY).returncode == 0
    assert keys("remove", "groq").returncode == 0

    assert source_in(home / "config.toml") == "env:GROQ_API_KEY"
    with SyncClient.spawn() as client:
        assert client.auth_status(provider="groq")["state"] == "signed_out"


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("canary-written-by-hand", "in the table itself"),
        ("env:SET_KEY", "from env:SET_KEY"),
        ("SET_KEY", "from SET_KEY"),
        ("file:a-file", "from file:a-file"),
        ("cmd:printf canary", "from cmd:printf …"),
        ("schema:base_url", "from schema:base_url"),
    ],
)
def test_a_key_from_elsewhere_is_not_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch, value: str, place: str
) -> None:
    monkeypatch.setenv("SET_KEY", KEY)
    (home / "a-file").write_text("canary\n", "utf-8")
    text = CONFIG.replace("env:NOT_SET_KEY", value)
    (home / "config.toml").write_text(text, "utf-8")
    done = keys("set", "--file", "groq", piped=KEY)

    assert done.returncode == 1
    assert f"groq already has a key, {place}: api_key in [providers.groq] of {home}" in done.stderr
    assert "jumpseat config edit" in done.stderr
    assert "canary" not in done.stderr
    assert (home / "config.toml").read_text("utf-8") == text
    assert not (home / "keys").exists()


@pytest.mark.parametrize("value", ["NOT_SET_API_KEY", "file:missing", "cmd:false", "keyring:no/such", ""])
def test_a_source_without_a_key_is_replaced_and_restored(home: Path, value: str) -> None:
    file = home / "config.toml"
    text = CONFIG.replace("env:NOT_SET_KEY", value)
    file.write_text(text, "utf-8")

    assert keys("set", "--file", "groq", piped=KEY).returncode == 0
    assert path_of(source_in(file)).read_text() == f"{KEY}\n"
    assert keys("remove", "groq").returncode == 0
    assert file.read_text("utf-8") == text


def test_a_key_that_jumpseat_has_not_stored_is_not_removed(home: Path) -> None:
    text = CONFIG.replace("env:NOT_SET_KEY", "canary-written-by-hand")
    (home / "config.toml").write_text(text, "utf-8")
    done = keys("remove", "groq")

    assert done.returncode == 1
    assert "which jumpseat has not stored" in done.stderr
    assert "canary" not in done.stderr
    assert (home / "config.toml").read_text("utf-8") == text


@pytest.mark.parametrize(
    ("arguments", "piped", "code", "words"),
    [
        (("set", "groq", KEY), "", 2, "leave out the key"),
        (("set", "groq"), "", 2, "No key was entered"),
        (("set", "groq"), "two words", 2, "white space"),
        (("set", "groq"), "x" * 70_000, 2, "too long"),
        (("set", "groq"), "env:CANARY", 2, "begins with env:"),
        (("set", "groq"), "GROQ_API_KEY", 2, "the name of an environment variable"),
        (("set", "copilot"), KEY, 1, "jumpseat login"),
        (("set", "gorq"), KEY, 1, "Did you mean groq?"),
        (("set", "acme"), KEY, 1, "jumpseat knows anthropic, openai, gemini, groq, "),
    ],
)
def test_an_invalid_key_or_provider_is_refused(
    home: Path, arguments: tuple[str, ...], piped: str, code: int, words: str
) -> None:
    done = keys(*arguments, piped=piped)

    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "canary" not in done.stderr
    assert not (home / "config.toml").exists()


def test_a_key_typed_on_a_terminal_is_not_shown(home: Path) -> None:
    terminal = Terminal([sys.executable, "-m", "tests.fakes.cli", "[]", "keys", "set", "--file", "groq"])
    terminal.read_until(lambda output: b"not shown" in output)
    terminal.type(KEY.encode() + b"\n")
    code, output = terminal.finish()

    assert code == 0
    assert "canary" not in output
    assert path_of(source_in(home / "config.toml")).read_text() == f"{KEY}\n"


@pytest.mark.parametrize(
    ("arguments", "question", "ending", "code"),
    [
        (("keys", "set", "groq"), b"Key for groq", signal.SIGTERM, 143),
        (("keys", "set", "groq"), b"Key for groq", signal.SIGINT, 130),
        (("config", "init"), b"Key for Mistral", signal.SIGTERM, 143),
    ],
)
def test_a_command_that_ends_at_a_hidden_question_restores_the_echo(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    question: bytes,
    ending: signal.Signals,
    code: int,
) -> None:
    for name in ("GROQ_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    terminal = Terminal([sys.executable, "-m", "tests.fakes.cli", "[]", *arguments])
    before = termios.tcgetattr(terminal.screen)
    if arguments == ("config", "init"):
        terminal.read_until(lambda output: b"separated by spaces" in output)
        terminal.type(b"6 7\n")  # These are the numbers of Groq and Mistral.
        for asked, answer in ((b"is the default", b"groq"), (b"Key for Groq", KEY.encode())):
            terminal.read_until(lambda output, asked=asked: asked in output)
            terminal.type(answer + b"\n")
    terminal.read_until(lambda output: question in output)
    terminal.wait_for_echo(on=False)
    terminal.process.send_signal(ending)
    terminal.wait_for_echo(on=True)
    assert termios.tcgetattr(terminal.screen) == before
    assert terminal.finish()[0] == code
    assert not (home / "config.toml").exists()
    assert not (home / "keys").exists()


def test_no_key_is_stored_if_the_configuration_file_is_faulty(home: Path) -> None:
    (home / "config.toml").write_text("[providers.groq\n", "utf-8")
    done = keys("set", "groq", piped=KEY)

    assert done.returncode == 1
    assert "is not valid TOML" in done.stderr
    assert not (home / "keys").exists()


def test_completion_offers_known_services_and_configured_providers(home: Path) -> None:
    (home / "config.toml").write_text('[providers.grotto]\nkind = "openai"\n', "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "jumpseat"],
        env={**os.environ, "_JUMPSEAT_COMPLETE": "bash_complete", "COMP_WORDS": "jumpseat keys set gro",
             "COMP_CWORD": "3"},
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["plain,groq", "plain,grotto"]
