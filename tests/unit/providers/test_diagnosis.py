"""The checks of one provider."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import Check, RequestError
from jumpseat.config import load_config
from jumpseat.providers import BUILT_IN, KINDS, Registry
from jumpseat.providers.diagnosis import diagnose
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.environments import environment_with

pytestmark = pytest.mark.requirement("5:diagnose")

KEY = "canary-of-the-provider"


async def checks_of(home: Path, provider: str, *lines: str, **variables: str) -> list[Check]:
    (home / "config.toml").write_text("\n".join(lines), "utf-8")
    environment = environment_with({"HOME": str(home), **variables}, home=home)
    config = load_config(None, None, environment=environment, built_in=BUILT_IN, kinds=KINDS)
    registry = Registry(config)
    try:
        found = await diagnose(registry, provider)
    finally:
        await registry.aclose()
    assert "canary" not in repr(found)
    return found


def acme(url: str, **more: str) -> list[str]:
    table = {"kind": "openai", "base_url": url, **more}
    return ["[providers.acme]", *(f'{key} = "{value}"' for key, value in table.items())]


def find_check(checks: list[Check], name: str) -> Any:
    (check,) = [check for check in checks if check.name == name]
    return check


async def test_a_provider_that_works_passes_every_check(tmp_path: Path, upstream: FakeUpstream) -> None:
    upstream.default(Reply.json({"data": [{"id": "m"}]}))
    found = await checks_of(tmp_path, "acme", *acme(upstream.base_url, api_key="env:ACME_KEY"), ACME_KEY=KEY)

    assert {check.name for check in found if check.ok} >= {"configuration", "credential", "connection"}
    assert (
        find_check(found, "credential").message
        == "providers.acme.api_key is env:ACME_KEY, which has a value."
    )
    assert find_check(found, "signIn").message == "acme accepts the key."
    sent = {request.method: request.headers.get("authorization") for request in upstream.requests}
    assert sent == {"HEAD": None, "GET": f"Bearer {KEY}"}


async def test_a_refused_key_is_a_failure(tmp_path: Path, upstream: FakeUpstream) -> None:
    upstream.default(Reply.json({"error": {"message": f"Bad key {KEY}"}}, 401))
    found = await checks_of(tmp_path, "acme", *acme(upstream.base_url, api_key="ACME_KEY"), ACME_KEY=KEY)

    assert find_check(found, "credential").message.startswith(
        "providers.acme.api_key is the variable ACME_KEY"
    )
    assert find_check(found, "signIn").ok is False


async def test_a_source_without_a_value_names_key_and_source(tmp_path: Path, upstream: FakeUpstream) -> None:
    table = acme(upstream.base_url, api_key="cmd:no-such-program canary")
    check = find_check(await checks_of(tmp_path, "acme", *table), "credential")

    assert check.ok is False
    assert check.message.startswith("providers.acme.api_key is cmd:no-such-program …, but")
    assert check.hint


async def test_a_hanging_source_is_reported_once_without_the_checks_that_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumpseat.providers.diagnosis.SOURCE_SECONDS", 0.2)
    monkeypatch.setattr("jumpseat.providers.diagnosis.PART_SECONDS", 0.3)
    table = acme("http://127.0.0.1:9/v1", api_key="cmd:sleep 30")
    found = await checks_of(tmp_path, "acme", *table, PATH=os.environ["PATH"])
    # The command was cancelled, but its process ends a moment later.
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others, timeout=20)

    assert {check.name: check.ok for check in found} == {
        "configuration": True,
        "credential": False,
        "proxy": True,
        "connection": False,
    }
    assert (
        find_check(found, "credential").message
        == "providers.acme.api_key is cmd:sleep …, which did not return a value within 0.2 s."
    )


async def test_a_key_in_the_file_is_not_shown(tmp_path: Path, upstream: FakeUpstream) -> None:
    upstream.default(Reply.json({"data": []}))
    check = find_check(await checks_of(tmp_path, "acme", *acme(upstream.base_url, api_key=KEY)), "credential")

    assert (check.ok, check.message) == (
        None,
        "providers.acme.api_key is written in the configuration itself.",
    )
    assert "jumpseat keys set acme" in (check.hint or "")


async def test_no_other_check_is_made_if_the_table_is_faulty(tmp_path: Path) -> None:
    (check,) = await checks_of(tmp_path, "acme", "[providers.acme]", 'kind = "openai"', "timeout = -1")

    assert (check.name, check.ok) == ("configuration", False)
    assert "timeout" in check.message


async def test_a_local_model_that_is_not_installed_has_no_network_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumpseat.adapters.local.model.packaged_file", lambda: None)
    found = await checks_of(tmp_path, "local")

    assert [check.ok for check in found] == [False]
    assert "jumpseat local install" in (found[0].hint or "")


async def test_an_unknown_provider_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="acme"):
        await checks_of(tmp_path, "acme")
