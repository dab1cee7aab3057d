"""Upstream spellings of model names, resolved against the known lists only, without a request."""

from __future__ import annotations

import pytest

from jumpseat.chat import RequestError
from jumpseat.providers import Registry, list_all_models, resolve_model
from tests.unit.scripted import ScriptedAdapter, ScriptedRegistry, registry_of

pytestmark = pytest.mark.requirement("4:upstream-spellings")

COPILOT = ("claude-opus-4.6", "claude-sonnet-4.5", "gpt-4o", "gpt-4o-2024-05-13")
CLAUDE = ("claude-opus-4-6", "claude-sonnet-4-5-20250929", "x-2024-01-01", "x-2025-01-01")


def make_registry() -> ScriptedRegistry:
    """Return a registry with the providers `dots`, which is the default, and `dashes`."""
    return registry_of(
        ScriptedAdapter(name="dots", models=COPILOT, default_model="gpt-4o"),
        ScriptedAdapter(name="dashes", models=CLAUDE, default_model="claude-opus-4-6"),
        default_provider="dots",
    )


async def list_all() -> Registry:
    registry = make_registry()
    await list_all_models(registry, registry.ids)
    return registry


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-opus-4-6", "dots/claude-opus-4.6"),
        ("claude-sonnet-4-5-20250929", "dots/claude-sonnet-4.5"),
        ("dots:claude-sonnet-4-5-20250929", "dots/claude-sonnet-4.5"),
        ("dashes:claude-opus-4.6", "dashes/claude-opus-4-6"),
        ("dashes:claude-sonnet-4.5", "dashes/claude-sonnet-4-5-20250929"),
        ("dashes:anthropic/Claude-Opus-4.6", "dashes/claude-opus-4-6"),
        ("X-2024-01-01", "dashes/x-2024-01-01"),
        ("dots:gpt-4o-2024-05-13", "dots/gpt-4o-2024-05-13"),
        ("dots:gpt-4o-2024-08-06", "dots/gpt-4o-2024-08-06"),
        ("dots:unheard-of", "dots/unheard-of"),
    ],
)
async def test_a_spelling_becomes_the_providers_own(name: str, expected: str) -> None:
    target = await resolve_model(await list_all(), name)

    assert f"{target.provider}/{target.model}" == expected
    # Facts about an unlisted model follow from its name, unless nothing is known about it.
    assert (target.info is None) == (target.model == "unheard-of")


async def test_an_ambiguous_spelling_is_refused_with_its_candidates() -> None:
    with pytest.raises(RequestError, match=r"'x' .*: x-2024-01-01, x-2025-01-01\.") as caught:
        await resolve_model(await list_all(), "dashes:x")

    assert caught.value.provider == "dashes"
    assert "dashes:x-20" in (caught.value.hint or "")


async def test_an_exact_name_takes_precedence_over_another_spelling() -> None:
    registry = registry_of(
        ScriptedAdapter(name="a", models=[]),
        ScriptedAdapter(name="b", models=["m-1.5"]),
        ScriptedAdapter(name="c", models=["m-1-5"]),
        default_provider="a",
    )
    await list_all_models(registry, registry.ids)

    assert (await resolve_model(registry, "m-1-5")).provider == "c"
    with pytest.raises(RequestError, match="b, c"):
        await resolve_model(registry, "M-1.5-latest")


async def test_resolving_a_name_does_not_fetch_a_list() -> None:
    registry = make_registry()
    target = await resolve_model(registry, "dots:claude-opus-4-6")

    assert target.model == "claude-opus-4-6"
    assert [registry.adapter(name).listed for name in ("dots", "dashes")] == [0, 0]


@pytest.mark.parametrize(
    ("table", "name", "model"),
    [
        ({"models": ["My-Model.1"]}, "my-model-1", "My-Model.1"),
        ({"models": ["a.b", "a_b"]}, "a-b", "a-b"),
        ({"models": ["a-2025-01-01"]}, "a", "a-2025-01-01"),
        ({"models": ["a"]}, "a-2025-01-01", "a-2025-01-01"),
        ({}, "FIRST", "First"),
        ({"kind": "copilot"}, "claude-opus-4-6", "claude-opus-4.6"),
        ({"kind": "copilot"}, "claude-sonnet-4-5-20250929", "claude-sonnet-4.5"),
        ({"kind": "copilot"}, "gpt-4.1-2025-04-14", "gpt-4.1-2025-04-14"),
        ({"kind": "anthropic"}, "claude-opus-4.6", "claude-opus-4-6"),
        ({"kind": "anthropic"}, "claude-opus-4-6-20260101", "claude-opus-4-6-20260101"),
        ({"kind": "anthropic", "base_url": "http://127.0.0.1:9"}, "claude-opus-4.6", "claude-opus-4.6"),
        ({"base_url": "https://openrouter.ai/api/v1"}, "claude-opus-4-6", "anthropic/claude-opus-4.6"),
    ],
)
async def test_before_the_first_list_the_offline_facts_are_used(
    table: dict[str, object], name: str, model: str
) -> None:
    registry = registry_of(ScriptedAdapter(name="a", default_model="First"), tables={"a": table})

    assert (await resolve_model(registry, f"a:{name}")).model == model
    assert (await resolve_model(registry, name)).model == model


async def test_a_default_model_may_have_another_spelling_too() -> None:
    registry = registry_of(
        ScriptedAdapter(name="a", models=["m-1.5"]), tables={"a": {"default_model": "m-1-5"}}
    )
    await registry.list_models("a")

    assert (await resolve_model(registry, None)).model == "m-1.5"
