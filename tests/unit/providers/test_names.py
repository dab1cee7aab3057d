"""The resolution of model names, and the choice of the default provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base.account import AuthState
from jumpseat.chat import AuthenticationError, ChatError, ConfigError, RequestError
from jumpseat.providers import Registry, ensure_default_provider, list_all_models, resolve_model
from tests.unit.scripted import ScriptedAdapter, registry_of


def make_registry(**top_level: Any) -> Registry:
    """Return a registry with the providers `a` and `b`, each with its own default model."""
    return registry_of(
        ScriptedAdapter(name="a", models=["one", "both", "qwen3:4b"], default_model="one"),
        ScriptedAdapter(name="b", models=["two", "both"], default_model="two"),
        **top_level,
    )


async def list_all(registry: Registry) -> Registry:
    """Return the registry after listing the models of all providers."""
    await list_all_models(registry, registry.ids)
    return registry


async def resolve(registry: Registry, name: str | None) -> str:
    target = await resolve_model(registry, name)
    return f"{target.provider}/{target.model}"


@pytest.mark.requirement("4:default-provider")
@pytest.mark.parametrize(
    ("names", "configured", "local", "expected"),
    [
        (["a"], None, "signed_out", "a"),
        (["a"], None, "not_required", "a"),
        (["a"], "local", "not_required", "local"),
        (["a", "b"], "b", "not_required", "b"),
        (["a", "b"], None, "not_required", "local"),
        (["a", "b"], None, "signed_out", None),
        (["a", "b"], None, "expired", None),
        ([], None, "not_required", "local"),
        ([], None, "signed_out", None),
    ],
)
async def test_the_default_is_the_configured_else_the_only_one_else_the_built_in(
    names: list[str], configured: str | None, local: AuthState, expected: str | None
) -> None:
    adapters = [ScriptedAdapter(name=name) for name in names]

    assert (
        await ensure_default_provider(registry_of(*adapters, local=local, default_provider=configured))
        == expected
    )


@pytest.mark.requirement("4:default-provider", "6:config")
async def test_a_default_that_does_not_exist_is_an_error_with_the_existing_ones() -> None:
    with pytest.raises(ConfigError, match=r"'c'.*copilot, local, a, b"):
        await ensure_default_provider(make_registry(default_provider="c"))


@pytest.mark.requirement("4:provider-prefix")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("b:two", "b/two"),
        ("b:anything", "b/anything"),
        ("b:x:y", "b/x:y"),
        ("b:", "b/two"),
        ("qwen3:4b", "a/qwen3:4b"),
        ("unknown:two", "a/unknown:two"),
        (":one", "a/:one"),
    ],
)
async def test_only_a_configured_providers_id_is_a_prefix(name: str, expected: str) -> None:
    assert await resolve(make_registry(default_provider="a"), name) == expected


@pytest.mark.requirement("4:bare-name")
@pytest.mark.parametrize(
    ("name", "expected"), [("one", "a/one"), ("both", "a/both"), ("two", "b/two"), ("new", "a/new")]
)
async def test_a_bare_name_goes_to_the_default_else_the_only_provider_that_lists_it(
    name: str, expected: str
) -> None:
    assert await resolve(await list_all(make_registry(default_provider="a")), name) == expected


@pytest.mark.requirement("4:bare-name")
async def test_a_default_without_a_fetched_list_gets_every_bare_name() -> None:
    registry = make_registry(default_provider="a")
    await registry.list_models("b")

    assert await resolve(registry, "two") == "a/two"


@pytest.mark.requirement("4:bare-name")
async def test_a_name_that_several_others_list_is_an_error_that_names_them() -> None:
    others = [ScriptedAdapter(name=name, models=["x"]) for name in ("b", "c")]
    registry = await list_all(
        registry_of(ScriptedAdapter(name="a", models=[]), *others, default_provider="a")
    )

    with pytest.raises(RequestError, match="'x': b, c") as caught:
        await resolve_model(registry, "x")
    assert "b:x" in (caught.value.hint or "")


async def test_without_a_default_a_bare_name_goes_to_the_only_provider_that_lists_it() -> None:
    assert await resolve(await list_all(make_registry()), "two") == "b/two"


@pytest.mark.requirement("4:default-model")
@pytest.mark.parametrize(
    ("top_level", "table", "own", "expected"),
    [
        ({"default_model": "other"}, {"default_model": "t"}, "own", "a/other"),
        ({"default_model": "a:other"}, {"default_model": "t"}, "own", "a/other"),
        ({}, {"default_model": "t", "models": ["l"]}, "own", "a/t"),
        ({}, {"models": ["l", "m"]}, "own", "a/own"),
        ({}, {"models": ["l", "m"]}, None, "a/l"),
    ],
)
async def test_an_absent_model_is_the_configured_one_else_the_providers_own(
    top_level: dict[str, Any], table: dict[str, Any], own: str | None, expected: str
) -> None:
    registry = registry_of(ScriptedAdapter(name="a", default_model=own), tables={"a": table}, **top_level)

    assert await resolve(registry, None) == expected


@pytest.mark.requirement("4:default-model")
async def test_the_error_for_a_missing_default_model_explains_how_to_name_one() -> None:
    with pytest.raises(RequestError, match="a has no default model") as caught:
        await resolve_model(registry_of(ScriptedAdapter(name="a")), None)
    assert "providers.a.default_model" in (caught.value.hint or "")


@pytest.mark.requirement("4:not-ready")
@pytest.mark.parametrize("name", [None, "bare"])
@pytest.mark.parametrize(
    ("providers", "error"), [([], AuthenticationError), (["a", "b"], RequestError)], ids=["none", "several"]
)
async def test_the_error_for_a_missing_default_provider_has_a_hint(
    home: Path, providers: list[str], error: type[ChatError], name: str | None
) -> None:
    with pytest.raises(error) as caught:
        await resolve_model(registry_of(*[ScriptedAdapter(name=each) for each in providers]), name)

    assert type(caught.value) is error
    assert all(each in caught.value.message for each in providers)
    hint = caught.value.hint or ""
    commands = (
        ("login", "local install", "keys set NAME") if not providers else ("settings set default_provider",)
    )
    assert [each for each in commands if f"jumpseat {each}" not in hint] == []


async def test_a_resolved_model_includes_its_facts() -> None:
    registry = make_registry(default_provider="a")
    assert (await resolve_model(registry, "a:one")).info is None

    await list_all(registry)
    info = (await resolve_model(registry, "a:one")).info
    assert info is not None
    assert info.id == "a:one"
    assert (await resolve_model(registry, "a:unlisted")).info is None
