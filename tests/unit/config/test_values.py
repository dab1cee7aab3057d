"""A table's values: names are replaced; slow sources are read once, and again after a rejection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig, Secret, Values
from jumpseat.config.source_cache import SourceCache
from jumpseat.system.environment import environment_of_process
from jumpseat.system.secrets import RECENT, redact, register_secret
from tests.environments import environment_with

KEY = "key-of-the-file-4711"


class Function:
    """A value source that a test can delay: `python:counted_source:read`."""

    def __init__(self) -> None:
        self.calls = 0
        self.value = "value-1"
        self.entered = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def read(self) -> str:
        self.calls += 1
        self.entered.set()
        assert self.may_end.wait(20)
        if self.value == "fail":
            raise OSError("not now")
        return self.value


SOURCE = "python:counted_source:read"


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> Iterator[Function]:
    import sys
    import types

    counted = Function()
    module = types.ModuleType("counted_source")
    module.read = counted.read
    monkeypatch.setitem(sys.modules, "counted_source", module)
    yield counted
    counted.may_end.set()


def table_values(**table: Any) -> Values:
    return Values("x", ProviderConfig(**table).set_environment(environment_of_process()))


async def read_failure(work: Callable[[], Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        await work()
    assert caught.value.provider == "x"
    return caught.value.message


@pytest.mark.requirement("7:resolved-once")
async def test_concurrent_callers_share_one_read_and_later_ones_use_the_cache(function: Function) -> None:
    function.may_end.clear()
    values = table_values()
    asked = [asyncio.create_task(values.resolve("api_key", SOURCE)) for _ in range(50)]
    await asyncio.to_thread(function.entered.wait, 20)
    function.may_end.set()

    assert {secret.reveal() for secret in await asyncio.gather(*asked)} == {"value-1"}
    assert (await values.resolve("headers.a", SOURCE)).reveal() == "value-1"
    assert function.calls == 1


@pytest.mark.requirement("7:resolved-once")
async def test_nothing_is_read_before_it_is_needed(function: Function) -> None:
    table_values(api_key=SOURCE, headers={"a": SOURCE}, env={"b": SOURCE})
    await asyncio.sleep(0)

    assert function.calls == 0


@pytest.mark.requirement("7:resolved-once")
async def test_a_failure_is_not_cached(function: Function) -> None:
    values = table_values()
    function.value = "fail"
    assert "raised OSError" in await read_failure(lambda: values.resolve("api_key", SOURCE))
    function.value = "value-2"

    assert (await values.resolve("api_key", SOURCE)).reveal() == "value-2"


@pytest.mark.requirement("7:resolved-once")
async def test_a_cancelled_caller_does_not_affect_the_others(function: Function) -> None:
    function.may_end.clear()
    values = table_values()
    first, second = (asyncio.create_task(values.resolve("api_key", SOURCE)) for _ in range(2))
    await asyncio.to_thread(function.entered.wait, 20)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    function.may_end.set()

    assert (await second).reveal() == "value-1"
    assert function.calls == 1


@pytest.mark.requirement("7:resolved-once")
async def test_a_source_is_read_again_after_its_last_caller_is_cancelled(function: Function) -> None:
    function.may_end.clear()
    values = table_values()
    only = asyncio.create_task(values.resolve("api_key", SOURCE))
    await asyncio.to_thread(function.entered.wait, 20)
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    function.may_end.set()

    assert (await values.resolve("api_key", SOURCE)).reveal() == "value-1"
    assert function.calls == 2


@pytest.mark.requirement("7:resolved-once")
async def test_a_cache_that_is_cleared_right_after_a_read_still_returns_the_value() -> None:
    cache = SourceCache()

    async def read() -> Secret:
        asyncio.get_running_loop().call_soon(cache.forget)  # Before the caller of the cache continues.
        return Secret("value-1")

    assert (await cache.read(SOURCE, read)).reveal() == "value-1"
    assert cache.find(SOURCE) is None


def test_a_cached_value_outlives_an_event_loop(function: Function) -> None:
    values = table_values()
    for _ in range(2):
        assert asyncio.run(values.resolve("api_key", SOURCE)).reveal() == "value-1"
    assert function.calls == 1


@pytest.mark.requirement("7:expired-credential")
async def test_a_rejected_value_is_read_again_once_for_all_rejected_requests(function: Function) -> None:
    values = table_values()
    await values.resolve("api_key", SOURCE)
    since = values.read_count
    assert not await values.refresh_rejected(since)
    assert function.calls == 2
    function.value = "value-2"

    since = values.read_count
    assert await asyncio.gather(*(values.refresh_rejected(since) for _ in range(50))) == [True] * 50
    assert function.calls == 3
    assert await values.refresh_rejected(since)  # This rejection is older than the last read.
    assert function.calls == 3
    assert (await values.resolve("api_key", SOURCE)).reveal() == "value-2"


@pytest.mark.requirement("6:no-secrets")
async def test_replaced_values_are_forgotten_and_the_latest_is_redacted(function: Function) -> None:
    function.value = "value-of-the-source"
    values = table_values(headers={"authorization": "Bearer ${token}"}, env={"token": SOURCE})
    for number in range(2 * RECENT):
        function.value = f"value-of-the-source-{number}"
        await values.refresh_rejected(values.read_count)
        await values.fill_headers("m")
    first, latest = "value-of-the-source-0", function.value
    for number in range(RECENT):
        register_secret(f"value-of-others-{number}", short_lived=True)

    assert redact(f"{first} Bearer {latest} {latest}") == f"{first} *** ***"


@pytest.mark.requirement("7:expired-credential")
async def test_a_source_that_fails_after_a_rejection_keeps_its_value(function: Function) -> None:
    values = table_values()
    await values.resolve("api_key", SOURCE)
    function.value = "fail"

    assert not await values.refresh_rejected(values.read_count)
    assert (await values.resolve("api_key", SOURCE)).reveal() == "value-1"


@pytest.mark.requirement("7:templates")
async def test_a_name_is_looked_up_in_env_then_the_table_then_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(KEY, "utf-8")
    monkeypatch.setenv("TEST_OWN", "own-value")
    values = table_values(
        name="Mine",
        timeout=2.5,
        api_key=f"file:{tmp_path / 'key'}",
        base_url="http://h/${name}",
        env={"name": "from-env", "both": "${name}+${model}", "path": "schema:kind"},
        kind="openai",
        own_key="env:TEST_OWN",
    )

    for text, expected in [
        ("${name}", "from-env"),
        ("${kind}/${timeout}", "openai/2.5"),
        ("${both} $${name}", "from-env+m ${name}"),
        ("Bearer ${api_key}", f"Bearer {KEY}"),
        ("${base_url}", "http://h/from-env"),
        ("${own_key}", "own-value"),
        ("${path}", "openai"),
    ]:
        assert await values.fill("headers.a", text, "m") == expected
    assert redact(KEY) == "***"


@pytest.mark.requirement("7:templates", "7:bare-names")
async def test_a_bare_name_of_a_variable_is_read_only_in_keys_for_credentials() -> None:
    names = ("TEST_KEY", "TEST_NAME", "TEST_OWN")
    environment = environment_with({name: f"value-of-{name}-4711" for name in names})
    table = ProviderConfig(api_key="TEST_KEY", own_token="TEST_KEY", name="TEST_NAME", own_key="TEST_OWN")
    values = Values("x", table.set_environment(environment), source_keys=("own_token",))

    filled = await values.fill("headers.a", "${api_key} ${own_token} ${name} ${own_key}")
    assert filled == "value-of-TEST_KEY-4711 value-of-TEST_KEY-4711 TEST_NAME TEST_OWN"
    assert redact("value-of-TEST_KEY-4711") == "***"


@pytest.mark.requirement("7:templates")
async def test_names_inside_a_value_are_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TEXT", "${api_key}")
    values = table_values(api_key="secret-of-this-table", env={"a": "env:TEST_TEXT"})

    assert await values.fill("query.a", "${a} ${model}", "${api_key}") == "${api_key} ${api_key}"


@pytest.mark.requirement("7:templates")
@pytest.mark.parametrize(
    ("table", "key", "name"),
    [
        ({"headers": {"A": "${nothing}"}}, "headers.A", "${nothing}"),
        ({"headers": {"A": "${parameters}"}}, "headers.A", "${parameters}"),
        ({"headers": {"A": "${a}"}, "env": {"a": "${b}", "b": "${a}"}}, "env.b", "${a}"),
        ({"headers": {"A": "${base_url}"}, "base_url": "${base_url}"}, "base_url", "${base_url}"),
        ({"headers": {"A": "${a}"}, "env": {"a": "${a}"}}, "env.a", "${a}"),
        ({"headers": {"A": "${open"}}, "headers.A", "${"),
    ],
)
async def test_a_name_without_a_value_is_an_error_with_provider_key_and_name(
    table: dict[str, Any], key: str, name: str
) -> None:
    message = await read_failure(lambda: table_values(**table).fill_headers("m"))

    assert f"providers.x.{key} " in message
    assert name in message


@pytest.mark.requirement("7:templates")
async def test_a_value_that_needs_a_model_is_left_out_without_one() -> None:
    values = table_values(headers={"A": "${model}", "B": "b"}, query={"m": "${model}", "v": 1, "on": True})

    assert await values.fill_headers() == {"b": "b"}
    assert await values.fill_headers("m") == {"a": "m", "b": "b"}
    assert await values.fill_query() == {"v": "1", "on": "true"}
    assert await values.fill_query("m") == {"m": "m", "v": "1", "on": "true"}


@pytest.mark.requirement("7:templates")
async def test_only_the_tables_own_parameters_are_replaced_in_a_body() -> None:
    values = table_values(
        parameters={"user": "${model}", "deep": [{"a": "x${team}"}], "n": 1}, env={"team": "t"}
    )
    body = {
        "messages": [{"content": "${team}"}],
        "user": values._table.parameters["user"],
        "options": values._table.parameters["deep"],
    }

    assert await values.fill_body(body, "m") == {
        "messages": [{"content": "${team}"}],
        "user": "m",
        "options": [{"a": "xt"}],
    }


@pytest.mark.requirement("7:templates-in-urls")
@pytest.mark.parametrize("address", ["ftp://h", "h.example/v1", "https://", "https:///x", "javascript:x"])
async def test_an_address_that_becomes_invalid_is_not_repeated_in_the_error(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("TEST_ADDRESS", address)
    values = table_values(env={"a": "env:TEST_ADDRESS"})

    message = await read_failure(lambda: values.fill_url("base_url", "${a}"))
    assert "providers.x.base_url is not an http or https address" in message
    assert address not in message


@pytest.mark.requirement("6:no-secrets-in-reprs")
def test_values_of_a_table_that_may_be_secret_are_masked() -> None:
    canary = "canary-of-the-table"
    table = ProviderConfig(
        kind="openai",
        base_url="http://h/v1",
        url=f"http://h/v1?key={canary}",
        api_key=canary,
        headers={"A": canary},
        env={"a": canary},
        query={"a": canary},
        parameters={"api_key": canary, "max_tokens": 5},
        plugin_token=canary,
    )

    for shown in (repr(table), str(table), f"{table}", str(table.model_dump()), table.model_dump_json()):
        assert canary not in shown
    assert table.model_dump()["headers"] == {"A": "***"}
    assert table.model_dump()["base_url"] == "http://h/v1"
    assert table.model_dump()["parameters"]["max_tokens"] == 5


CREDENTIALS = {
    "api_key": "tk-of-the-api-key",
    "headers": {"Authorization": "Bearer tk-of-the-header", "X-Title": "an ordinary title"},
    "query": {"key": "tk-of-the-query", "text": f"{SOURCE}-as-text"},
    "base_url": "http://me:tk-of-the-address@localhost/v1",
    "proxy": "http://me:tk-of-the-proxy@localhost",
    "env": {"token": "tk-of-the-table"},
    "own_secret": "tk-of-a-plug-in",
    "client_cert": {"cert": "cert.pem", "password": "tk-of-the-certificate"},
}


@pytest.mark.requirement("10:secrets")
async def test_every_credential_of_a_table_is_redacted_for_its_client_alone(function: Function) -> None:
    table = ProviderConfig(**CREDENTIALS).set_environment(environment_with())
    await Values("x", table).read_credentials()
    redacted = table.origin.environment.secrets.redact(str(CREDENTIALS))

    assert "tk-" not in redacted
    assert "an ordinary title" in redacted
    assert environment_with().secrets.redact(str(CREDENTIALS)) == str(CREDENTIALS)
    assert function.calls == 0


@pytest.mark.requirement("10:secrets")
async def test_a_costly_source_is_not_read_just_for_redaction_unless_cached(
    function: Function,
) -> None:
    function.value = "tk-of-the-function"
    table = ProviderConfig(api_key=SOURCE, headers={"X-Key": "${api_key}"}).set_environment(
        environment_with()
    )
    cautious = Values("x", table, may_be_costly=False)
    await cautious.read_credentials()
    assert function.calls == 0

    await Values("x", table).read_credentials()
    await cautious.read_credentials()
    assert function.calls == 1
    assert table.origin.environment.secrets.redact(function.value) == "***"
