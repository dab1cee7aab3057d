"""The registry: the providers, their capabilities, and failures that affect only one provider."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import ConfigError, ConnectionError, RequestError
from jumpseat.config import Config
from jumpseat.providers import Registry, describe_providers, list_all_models
from jumpseat.providers.registry import KINDS
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.unit.scripted import ScriptedAdapter, registry_of


def make_registry(**providers: dict[str, Any]) -> Registry:
    return Registry(Config.model_validate({"providers": providers}))


def test_the_built_in_providers_work_without_configuration() -> None:
    registry = make_registry()

    assert (registry.ids, registry.user_defined) == (["copilot", "local"], [])
    assert (registry.table("copilot").kind, registry.table("copilot").name) == ("copilot", "GitHub Copilot")
    assert (registry.table("local").kind, registry.table("local").name) == ("local", "Local model")


def test_a_table_for_the_built_in_provider_keeps_its_kind() -> None:
    registry = make_registry(local={"default_model": "mine"})

    assert (registry.table("local").kind, registry.table("local").default_model) == ("local", "mine")
    assert registry.user_defined == ["local"]


def test_an_unknown_provider_is_a_request_error() -> None:
    for ask in (Registry.table, Registry.adapter):
        with pytest.raises(RequestError, match=r"'x'.*copilot, local, a"):
            ask(make_registry(a={"kind": "openai"}), "x")


@pytest.mark.requirement("6:config")
@pytest.mark.parametrize("kind", ["", "opneai"])
def test_an_unknown_kind_is_reported_with_its_key_and_the_known_kinds(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"providers\.a\.kind") as caught:
        make_registry(a={"kind": kind}).adapter("a")
    assert all(known in caught.value.message for known in KINDS)


@pytest.mark.requirement("5:providers-list")
async def test_a_capability_is_from_a_probe_else_the_configuration_else_the_adapter() -> None:
    adapter = ScriptedAdapter(
        name="a", capabilities=Capabilities(vision=True, json_mode=False), probed=Capabilities(vision=False)
    )
    registry = registry_of(adapter, tables={"a": {"capabilities": {"json_mode": True, "vision": True}}})

    values, sources = registry.capabilities("a")
    assert values == Capabilities(vision=True, json_mode=True)
    assert {name for name, source in sources.items() if source == "config"} == {"json_mode", "vision"}
    assert {source for name, source in sources.items() if name not in ("json_mode", "vision")} == {"static"}

    await describe_providers(registry, None, probe=True)
    values, sources = registry.capabilities("a")
    assert values == Capabilities(vision=False)
    assert set(sources.values()) == {"probe"}


async def test_a_failed_probe_does_not_change_capabilities() -> None:
    registry = registry_of(
        ScriptedAdapter(name="a", probed=ConnectionError("Unreachable.")),
        ScriptedAdapter(name="b", probed=Capabilities(vision=False)),
    )
    rows = {row.id: row for row in await describe_providers(registry, "a", probe=True)}

    assert set(rows["a"].capability_sources.values()) == {"static"}
    assert set(rows["b"].capability_sources.values()) == {"probe"}


async def test_a_probe_is_made_only_on_request() -> None:
    registry = registry_of(ScriptedAdapter(name="a", probed=Capabilities(vision=False)))

    assert {
        source
        for row in await describe_providers(registry, None)
        for source in row.capability_sources.values()
    } == {"static"}


@pytest.mark.requirement("5:providers-list")
async def test_every_provider_is_described() -> None:
    registry = registry_of(
        ScriptedAdapter(name="a", state="configured"),
        ScriptedAdapter(name="b", state="signed_out"),
        tables={"a": {"name": "Mine"}},
    )
    rows = await describe_providers(registry, "a")

    assert [(row.id, row.name, row.kind, row.is_default, row.configured) for row in rows] == [
        ("copilot", "GitHub Copilot", "copilot", False, False),
        ("local", "Local model", "local", False, False),
        ("a", "Mine", "openai", True, True),
        ("b", "b", "openai", False, False),
    ]


async def test_a_misconfigured_provider_is_listed_with_the_others() -> None:
    fails = ScriptedAdapter(name="b", state=ConfigError("providers.b.api_key is env:X, which is not set."))
    registry = registry_of(ScriptedAdapter(name="a"), fails, tables={"c": {"kind": "nonsense"}})

    rows = {row.id: row for row in await describe_providers(registry, None)}

    assert [rows[name].configured for name in ("a", "b", "c")] == [True, False, False]
    assert "providers.b.api_key" in (rows["b"].auth.message or "")
    assert "providers.c.kind" in (rows["c"].auth.message or "")


@pytest.mark.requirement("5:auth-method")
async def test_each_provider_states_its_method_of_authentication() -> None:
    registry = make_registry(**{kind: {"kind": kind} for kind in KINDS}, wrong={"kind": "nonsense"})

    assert {row.kind: row.auth_method for row in await describe_providers(registry, None)} == {
        "copilot": "device_code",
        "copilot-language-server": "device_code",
        "openai": "api_key",
        "openai-responses": "api_key",
        "anthropic": "api_key",
        "ollama": "api_key",
        "local": "none",
        "nonsense": None,
    }


@pytest.mark.requirement("3:models-list")
@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ConnectionError("Unreachable."), "Unreachable."),
        (NotImplementedError(), "b does not list its models."),
        (KeyError("sk-secret"), "its log has the details"),
    ],
)
async def test_models_of_other_providers_are_listed_if_one_fails(failure: Exception, words: str) -> None:
    registry = registry_of(
        ScriptedAdapter(name="a", models=["one"]),
        ScriptedAdapter(name="b", models=failure),
        ScriptedAdapter(name="c", models=["two"]),
    )
    models, failures = await list_all_models(registry, ["a", "b", "c"])

    assert [model.id for model in models] == ["a:one", "c:two"]
    assert [each.provider for each in failures] == ["b"]
    assert words in failures[0].error.message
    assert "sk-secret" not in failures[0].error.message


@pytest.mark.requirement("3:models-list")
async def test_models_of_other_providers_are_listed_if_a_kind_is_unknown() -> None:
    registry = registry_of(ScriptedAdapter(name="a", models=["one"]), tables={"c": {"kind": "nonsense"}})

    models, failures = await list_all_models(registry, ["a", "c"])

    assert [model.id for model in models] == ["a:one"]
    assert isinstance(failures[0].error, ConfigError)


async def test_models_are_listed_once_and_then_remembered_unless_refreshed() -> None:
    adapter = ScriptedAdapter(name="a", models=["one"])
    registry = registry_of(adapter)
    assert registry.known_models("a") is None

    await asyncio.gather(*(registry.list_models("a") for _ in range(5)))
    assert adapter.listed == 1

    adapter.models = ["one", "two"]
    assert [model.model for model in await registry.list_models("a", refresh=True)] == ["one", "two"]
    known = registry.known_models("a") or {}
    assert [row.info for row in known.values()] == await registry.list_models("a")
    assert adapter.listed == 2


@pytest.mark.parametrize(
    ("settings", "values", "tokens"),
    [
        ({}, {}, None),
        ({"max_tokens": 5, "providers": {"a": {"t": 1}, "b": {"t": 2}}}, {"t": 1}, 5),
        ({"max_tokens": "5", "providers": "x"}, {}, None),
        ({"max_tokens": True, "providers": {"a": 1}}, {}, None),
        ({"max_tokens": 0, "providers": []}, {}, None),
    ],
)
def test_default_settings_are_the_providers_own_and_invalid_ones_are_ignored(
    settings: dict[str, Any], values: dict[str, Any], tokens: int | None
) -> None:
    registry = registry_of(ScriptedAdapter(name="a"), settings=settings)

    assert registry.default_settings("a") == values
    assert registry.default_max_tokens == tokens


def test_the_settings_schema_merges_the_users_rows_in_order() -> None:
    rows = make_registry(
        a={
            "kind": "openai",
            "settings": {
                "seed": {"type": "integer", "order": 9},
                "top_p": {"type": "number", "order": 0, "maximum": 0.5},
                "first": {"type": "boolean", "order": -1},
            },
        }
    ).settings_rows("a")

    assert [key for key in rows if key in ("first", "top_p", "temperature", "seed")] == [
        "first",
        "top_p",
        "temperature",
        "seed",
    ]
    assert rows["top_p"].maximum == 0.5
    assert list(make_registry(b={"kind": "plug-in"}).settings_rows("b")) == []


async def test_closing_the_registry_closes_the_connections_of_its_providers() -> None:
    async with FakeUpstream() as upstream:
        upstream.default(Reply.json({"data": []}))
        registry = make_registry(a={"kind": "openai", "base_url": upstream.base_url})
        await registry.list_models("a")
        assert upstream.open_connections == 1, "the connection is kept for the next request"

        await registry.aclose()

        await upstream.wait_until_unconnected()


class Hanging(ScriptedAdapter):
    """A provider that never answers."""

    async def probe(self) -> Capabilities:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


@pytest.mark.requirement("5:probe")
async def test_a_hanging_probe_times_out_without_delaying_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumpseat.providers.descriptions.PROBE_SECONDS", 0.01)
    registry = registry_of(
        Hanging(name="a", state="configured"), ScriptedAdapter(name="b", probed={"vision": False})
    )
    rows = {row.id: row for row in await describe_providers(registry, "a", probe=True)}

    assert (rows["a"].auth.state, rows["a"].auth.message) == ("configured", "a did not answer within 0.01 s.")
    assert {name for name, source in rows["b"].capability_sources.items() if source == "probe"} == {"vision"}


@pytest.mark.requirement("5:probe")
async def test_a_probe_does_not_change_the_capabilities_that_chats_use() -> None:
    registry = registry_of(ScriptedAdapter(name="a", probed={"vision": False}))
    await describe_providers(registry, None, probe=True)

    assert not registry.capabilities("a")[0].vision
    assert registry.capabilities("a", probed=False)[0].vision
