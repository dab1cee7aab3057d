"""Facts about models: the precedence of their sources; a missing fact is not guessed."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jumpseat.chat import ModelInfo
from jumpseat.config import ProviderConfig
from jumpseat.providers import resolve_model
from jumpseat.providers.facts import complete_row, find_facts_by_name
from jumpseat.providers.snapshot import CATALOGUES, find_catalogue, read_snapshot
from tests.unit.scripted import ScriptedAdapter, model_info, registry_of

pytestmark = pytest.mark.requirement("3:model-facts")

CLAUDE = "claude-opus-4-6"


def table(**more: Any) -> ProviderConfig:
    return ProviderConfig.model_validate({"kind": "openai", **more})


def bare(model: str = CLAUDE, **facts: Any) -> ModelInfo:
    return ModelInfo(provider="p", model=model, name=model, family=model, version=model, **facts)


def test_a_providers_facts_precede_the_users_facts_which_precede_the_snapshot() -> None:
    vendored = read_snapshot()["anthropic"][CLAUDE]
    configured = {"id": CLAUDE, "max_context_tokens": 3, "max_output_tokens": 4, "supports_vision": False}
    found = complete_row(bare(max_context_tokens=2), table(kind="anthropic", models=[configured]))

    assert (found.info.max_context_tokens, found.info.max_output_tokens) == (2, 4)
    assert (found.info.supports_vision, found.info.supports_tool_use) == (False, vendored.supports_tool_use)
    assert (found.info.name, found.info.family) == (vendored.name, vendored.family)
    assert {fact: found.sources[fact] for fact in ("max_context_tokens", "max_output_tokens")} == {
        "max_context_tokens": "provider",
        "max_output_tokens": "config",
    }
    assert (found.sources["supports_vision"], found.sources["supports_tool_use"]) == ("config", "snapshot")


@pytest.mark.parametrize(
    "more",
    [
        {"base_url": "http://127.0.0.1:8080/v1"},
        {"base_url": "https://llm.example.org/v1"},
        {"kind": "anthropic", "base_url": "https://api.anthropic.com.example.org"},
        {"kind": "ollama"},
        {"kind": "local"},
    ],
)
@pytest.mark.parametrize("model", [CLAUDE, "gpt-4o", "llama-3.3-70b-versatile"])
def test_another_vendors_server_does_not_use_the_snapshot(more: dict[str, Any], model: str) -> None:
    row = bare(model)

    assert complete_row(row, table(**more)).info == row
    assert complete_row(row, table(**more)).sources == {}


@pytest.mark.parametrize(
    ("more", "catalogue"),
    [
        ({}, "openai"),
        ({"kind": "openai-responses"}, "openai"),
        ({"kind": "anthropic"}, "anthropic"),
        ({"kind": "copilot"}, "github-copilot"),
        ({"kind": "anthropic", "base_url": "https://API.anthropic.com:443/"}, "anthropic"),
        *(({"base_url": f"https://{host}/v1"}, name) for name, host in CATALOGUES.items()),
    ],
)
def test_a_vendors_own_host_identifies_the_vendor_of_its_models(more: dict[str, Any], catalogue: str) -> None:
    assert find_catalogue(table(**more)) == catalogue


def test_a_model_in_another_spelling_has_the_facts_but_keeps_its_own_label() -> None:
    found = complete_row(bare("models/Claude-Opus-4.6-20260101"), table(kind="anthropic"))

    assert found.info.max_context_tokens == read_snapshot()["anthropic"][CLAUDE].max_context_tokens
    assert found.info.name == "models/Claude-Opus-4.6-20260101"


def test_a_model_that_the_snapshot_does_not_have_stays_unknown() -> None:
    row = bare("claude-of-the-future")

    assert complete_row(row, table(kind="anthropic")).info == row


def test_configured_capabilities_of_a_provider_take_precedence_over_the_snapshot() -> None:
    found = complete_row(bare(), table(kind="anthropic", capabilities={"vision": False}))

    assert found.info.supports_vision is None
    assert found.info.supports_tool_use is True


def test_a_label_from_the_provider_stays() -> None:
    row = model_info("p", CLAUDE, vendor="Acme")
    found = complete_row(ModelInfo(**{**_fields(row), "name": "Opus"}), table(kind="anthropic"))

    assert (found.info.name, found.info.vendor) == ("Opus", "Acme")


@pytest.mark.requirement("3:model-facts")
def test_a_family_from_copilot_stays_even_if_it_equals_the_model() -> None:
    vendored = read_snapshot()["github-copilot"]["gpt-4.1"]
    row = ModelInfo(provider="p", model="gpt-4.1", name="GPT-4.1", family="gpt-4.1", version="1")

    assert complete_row(row, table(kind="copilot")).info.family == "gpt-4.1" != vendored.family
    assert find_facts_by_name("p", "gpt-4.1", table(kind="copilot"), None).info.name == vendored.name


def _fields(row: ModelInfo) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("provider", "model", "name", "family", "version", "vendor")}


async def test_facts_of_an_unlisted_model_come_from_its_name() -> None:
    registry = registry_of(
        ScriptedAdapter(name="a"), tables={"a": {"models": [{"id": "m", "max_prompt_tokens": 7}, "n"]}}
    )
    target = await resolve_model(registry, "a:m")

    assert target.info is not None
    assert (target.info.max_prompt_tokens, target.sources) == (7, {"max_prompt_tokens": "config"})
    assert (await resolve_model(registry, "a:n")).info is None


async def test_the_source_of_a_fact_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "jumpseat.providers.facts")
    complete_row(bare(), table(kind="anthropic"))

    assert "p:claude-opus-4-6" in caplog.text
    assert "'max_context_tokens': 'snapshot'" in caplog.text
