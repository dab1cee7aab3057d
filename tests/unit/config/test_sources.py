"""Value sources: each kind, and the error for a source without a value."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig, Values, load_config, resolve
from jumpseat.config.sources import keyring as keyring_source
from jumpseat.config.sources.file import MAX_FILE_BYTES
from jumpseat.system.environment import environment_of_process
from jumpseat.system.secrets import redact
from tests.environments import environment_with
from tests.unit.adapters.github.keyrings import BrokenKeyring, DictKeyring

SECRET = "sk-test-hunter2-4711"


def table_of(directory: Path, text: str, overlay: Any = None) -> ProviderConfig:
    """Write a configuration file in this directory, and return the provider's table."""
    file = directory / "config.toml"
    file.write_text(f'[providers.x]\nkind = "openai"\n{text}\n', "utf-8")
    return load_config(file, overlay).providers["x"]


async def read_failure(source: str, table: ProviderConfig | None = None, key: str = "api_key") -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        await Values("x", table or ProviderConfig()).resolve(key, source)
    error = caught.value
    assert error.provider == "x"
    assert f"providers.x.{key}" in error.message
    assert error.hint
    assert SECRET not in error.message + error.hint
    return error


@pytest.mark.requirement("7:env-source")
async def test_a_variable_is_read_from_the_environment_of_the_tables_client() -> None:
    for value in ("first-value", "second-value"):
        table = ProviderConfig().set_environment(environment_with({"TEST_KEY": value}))
        assert (await Values("x", table).resolve("api_key", "env:TEST_KEY")).reveal() == value
        assert resolve("x", "api_key", "env:TEST_KEY", table).reveal() == value


def test_a_trailing_line_ending_of_a_variable_is_not_part_of_the_key() -> None:
    table = ProviderConfig().set_environment(environment_with({"TEST_KEY": "sk-with-a-line-ending\n"}))

    assert resolve("p", "api_key", "env:TEST_KEY", table).reveal() == "sk-with-a-line-ending"


async def test_a_plain_value_is_used_unchanged() -> None:
    for plain in (SECRET, "environment:x", "${api_key}"):
        assert (await Values("x", ProviderConfig()).resolve("api_key", plain)).reveal() == plain


@pytest.mark.requirement("7:env-source")
@pytest.mark.parametrize("value", [None, "", " \n"])
async def test_a_variable_that_is_not_set_is_an_error_that_names_it(
    value: str | None,
) -> None:
    environment = environment_with({} if value is None else {"TEST_KEY": value})

    error = await read_failure("env:TEST_KEY", ProviderConfig().set_environment(environment))
    assert "providers.x.api_key is env:TEST_KEY" in error.message
    assert "TEST_KEY" in (error.hint or "")


@pytest.mark.requirement("7:bare-names")
async def test_the_exact_name_of_a_set_variable_stands_for_the_variables_value() -> None:
    values = Values("x", ProviderConfig().set_environment(environment_with({"TEST_KEY": SECRET})))

    assert (await values.resolve("api_key", "TEST_KEY")).reveal() == SECRET
    assert (await values.resolve("api_key", "TEST_KEY2")).reveal() == "TEST_KEY2"
    assert (await values.resolve("api_key", "test_key")).reveal() == "test_key"
    empty = ProviderConfig().set_environment(environment_with({"TEST_KEY": ""}))
    assert "TEST_KEY is not set" in (await read_failure("TEST_KEY", empty)).message


@pytest.mark.requirement("7:bare-names", "7:trust-sources")
async def test_an_overlay_cannot_read_a_variable_by_its_name(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)
    table = {
        "kind": "openai",
        "api_key": "TEST_KEY",
        "headers": {"X-A": "TEST_KEY"},
        "env": {"a": "TEST_KEY"},
    }
    config = load_config(None, {"providers": {"new": table}}, environment=environment_of_process())
    values = Values("new", config.providers["new"])

    assert (await values.resolve("api_key", "TEST_KEY")).reveal() == "TEST_KEY"
    assert await values.fill_headers() == {"x-a": "TEST_KEY"}
    assert resolve("new", "api_key", "TEST_KEY", config.providers["new"]).reveal() == "TEST_KEY"
    # This is a second line of defence: even unchecked values of an overlay are neither read nor replaced.
    with pytest.raises(ConfigError, match="may not use the source env:"):
        await values.resolve("api_key", "env:TEST_KEY")
    assert await values.fill("base_url", "http://h/${a}") == "http://h/${a}"


@pytest.mark.requirement("7:trust-sources")
async def test_an_overlay_does_not_change_values_that_sources_or_templates_read(
    home: Path,
) -> None:
    (home / "config.toml").write_text(
        '[providers.x]\nkind = "openai"\nbase_url = "http://${host}.example/${default_model}"\n'
        'api_key = "schema:settings.key.default"\ndefault_model = "mine"\n'
        'env = { host = "schema:settings.key.default" }\n'
        '[providers.x.settings.key]\ntype = "string"\ndefault = "own"\n',
        "utf-8",
    )
    overlay = {"default_model": "evil", "settings": {"key": "evil"}}
    config = load_config(None, {"providers": {"x": overlay}}, environment=environment_of_process())
    table = config.providers["x"]
    values = Values("x", table)

    assert table.default_model == "evil"
    assert (await values.resolve("api_key", table.api_key or "")).reveal() == "own"
    assert await values.fill_url("base_url", table.base_url or "") == "http://own.example/mine"


@pytest.mark.requirement("7:file-source")
async def test_a_relative_path_starts_at_the_directory_of_the_configuration(
    tmp_path: Path,
) -> None:
    table = table_of(tmp_path, 'api_key = "file:key.txt"')
    (tmp_path / "key.txt").write_bytes(b"\xef\xbb\xbf  two words \r\n\n")

    assert (await Values("x", table).resolve("api_key", "file:key.txt")).reveal() == "  two words "


@pytest.mark.requirement("7:file-source")
async def test_a_path_may_be_absolute_or_start_at_the_home_directory(
    tmp_path: Path,
) -> None:
    home = environment_with({"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)})
    (tmp_path / "key").write_text(SECRET, "utf-8")

    for source in ("file:~/key", f"file:{tmp_path / 'key'}"):
        values = Values("x", ProviderConfig().set_environment(home))
        assert (await values.resolve("api_key", source)).reveal() == SECRET


@pytest.mark.requirement("7:file-source")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "does not exist"),
        ("folder", "is a directory"),
        ("large", "is larger than 64 KiB"),
        ("binary", "is not UTF-8"),
        ("empty", "its value is empty"),
        ("a\0b", "cannot be read"),
    ],
)
async def test_a_file_without_a_value_is_reported_with_its_name(
    tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_text(SECRET * MAX_FILE_BYTES, "utf-8")
    (tmp_path / "binary").write_bytes(b"\xff" + SECRET.encode())
    (tmp_path / "empty").write_text("\n", "utf-8")

    error = await read_failure(f"file:{name}", table_of(tmp_path, ""))
    assert words in error.message
    assert f"providers.x.api_key is file:{name}" in error.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
async def test_a_named_pipe_is_rejected_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert "it is not a regular file" in (await read_failure("file:pipe", table_of(tmp_path, ""))).message


@pytest.mark.requirement("7:keyring-source")
async def test_an_entry_of_the_keyring_is_read_by_service_and_user(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = DictKeyring()
    ring.kept[("https://svc/a", "me")] = SECRET
    monkeypatch.setattr(keyring_source, "system_keyring", lambda: ring)

    values = Values("x", ProviderConfig())
    assert (await values.resolve("api_key", "keyring:https://svc/a/me")).reveal() == SECRET
    assert redact(f"a {SECRET}") == "a ***"
    assert "no such entry" in (await read_failure("keyring:svc/you")).message
    assert "keyring:service/user" in (await read_failure("keyring:svc")).message


@pytest.mark.requirement("7:keyring-source")
async def test_without_the_keyring_package_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setattr(keyring_source, "find_spec", lambda name: None)

    error = await read_failure("keyring:svc/me")
    assert "keyring:svc/me" in error.message
    assert f"Run `{sys.executable} -m pip install keyring`." in (error.hint or "")


@pytest.mark.requirement("7:keyring-source")
async def test_a_keyring_that_is_locked_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring_source, "system_keyring", BrokenKeyring)
    monkeypatch.setattr(keyring_source, "find_spec", lambda name: object())  # Pretend that it is installed.

    assert "cannot be used: PermissionError" in (await read_failure("keyring:svc/me")).message


FUNCTIONS = f"""
import threading
class Names:
    @staticmethod
    def deep(): return "deep-{SECRET}"
def key():
    assert threading.current_thread() is not threading.main_thread()
    return " {SECRET}\\n"
def number(): return 4711
def leaks(): raise ValueError("{SECRET}")
def leaves(): raise SystemExit("{SECRET}")
def stops(): raise StopIteration("{SECRET}")
async def later(): return "{SECRET}"
"""


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a module that can be imported, and a module whose import fails."""
    (tmp_path / "value_functions.py").write_text(FUNCTIONS, "utf-8")
    (tmp_path / "broken_functions.py").write_text(f"raise OSError('{SECRET}')", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("value_functions", "broken_functions"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.requirement("7:python-source")
@pytest.mark.usefixtures("functions")
async def test_a_python_function_is_called_on_another_thread() -> None:
    values = Values("x", ProviderConfig())

    assert (await values.resolve("api_key", "python:value_functions:key")).reveal() == SECRET
    assert (await values.resolve("api_key", "python:value_functions:Names.deep")).reveal() == f"deep-{SECRET}"


@pytest.mark.requirement("7:python-source")
@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("value_functions:number", "did not return str but int"),
        ("value_functions:later", "did not return str but coroutine"),
        ("value_functions:leaks", "raised ValueError"),
        ("value_functions:leaves", "raised SystemExit"),
        ("value_functions:stops", "raised StopIteration"),
        ("value_functions:missing", "no missing that can be imported"),
        ("no_such_package.there:f", "can be imported"),
        ("broken_functions:f", "importing broken_functions raised OSError"),
        ("value_functions", "package.module:function"),
    ],
)
async def test_a_failure_in_a_function_is_reported_without_its_text(place: str, words: str) -> None:
    error = await read_failure(f"python:{place}")

    assert words in error.message
    assert f"python:{place}" in error.message


@pytest.mark.requirement("7:schema-source")
async def test_a_schema_path_reads_a_value_of_the_same_table(tmp_path: Path) -> None:
    text = (
        'api_key = "schema:settings.t.default"\nmodels = [{ id = "m", max_context_tokens = 4096 }]\n'
        'env = { a = "schema:env.b", b = "file:key" }\nown = "mine"\n'
        '[providers.x.settings.t]\ntype = "number"\ndefault = 0.5\n'
    )
    (tmp_path / "key").write_text(SECRET, "utf-8")
    values = Values("x", table_of(tmp_path, text))

    for source, expected in [
        ("settings.t.default", "0.5"),
        ("models.0.max_context_tokens", "4096"),
        ("own", "mine"),
        ("env.a", SECRET),
    ]:
        assert (await values.resolve("api_key", f"schema:{source}")).reveal() == expected
    table = ProviderConfig(default_model="m", settings={}, parameters={"a": [1, {"b": True}]})
    assert (await Values("x", table).resolve("api_key", "schema:default_model")).reveal() == "m"
    assert (await Values("x", table).resolve("api_key", "schema:parameters.a.1.b")).reveal() == "true"


@pytest.mark.requirement("7:schema-source")
@pytest.mark.parametrize("path", ["settings.missing.default", "settings", "", "env.a.b", "models.7"])
async def test_a_missing_schema_path_is_reported_by_name(tmp_path: Path, path: str) -> None:
    error = await read_failure(f"schema:{path}", table_of(tmp_path, 'env = { a = "b" }'))

    assert f"schema:{path}" in error.message


@pytest.mark.requirement("7:schema-source")
async def test_circular_schema_paths_are_a_fault(tmp_path: Path) -> None:
    table = table_of(tmp_path, 'env = { a = "schema:env.b", b = "schema:env.a" }')

    assert "leads back to itself" in (await read_failure("schema:env.a", table, "env.b")).message


async def test_a_blocking_caller_can_resolve_a_file_source(tmp_path: Path) -> None:
    table = table_of(tmp_path, "")
    (tmp_path / "key").write_text(SECRET, "utf-8")

    # These calls run on the thread of the event loop.
    assert resolve("x", "api_key", "file:key", table).reveal() == SECRET
    with pytest.raises(ConfigError, match="does not exist"):
        resolve("x", "api_key", "file:other", table)
