"""A prompt with a mistyped name is not sent, and the error suggests the nearest existing names."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.chat import ConfigError, InvalidRequestError, RequestError, UnknownModelError
from jumpseat.config import SavedSettings
from jumpseat.config.suggestions import alternatives, find_similar
from jumpseat.engine import run_turn
from jumpseat.providers import Registry, ensure_default_provider, explain_model_fault, resolve_model
from jumpseat.providers.checkup import check_file
from jumpseat.system.environment import environment_of_process
from tests.unit.scripted import RecordingSink, ScriptedAdapter, ask, registry_of

pytestmark = pytest.mark.requirement("4:mistyped-prefix")


def make_registry() -> Registry:
    """Return a registry with four providers, of which `groq` is the default."""
    tables = {
        "groq": {"kind": "openai", "base_url": "https://api.groq.com/openai/v1"},
        "claude": {"kind": "anthropic"},
        "gateway": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1"},
        "ollama": {"kind": "ollama", "models": ["mistral:own"], "default_model": "openai:mine"},
    }
    adapters = [ScriptedAdapter(name=name) for name in tables]
    return registry_of(*adapters, tables=tables, default_provider="groq")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("anthropic:claude-sonnet-4-5", "did you mean claude:claude-sonnet-4-5?"),
        ("antropic:claude-sonnet-4-5", "did you mean claude:claude-sonnet-4-5?"),
        ("Groq:x", "did you mean groq:x?"),
        ("qroq:x", "did you mean groq:x?"),
        ("gorq:x:y", "did you mean groq:x:y?"),
        ("grok:grok-4", "did you mean groq:grok-4?"),
        ("olama:qwen3:4b", "did you mean ollama:qwen3:4b?"),
        ("copliot:gpt-4.1", "did you mean copilot:gpt-4.1?"),
        ("lokal:x", "did you mean local:x?"),
        # The prefix resembles a well-known service, for which no provider is configured.
        ("openia:gpt-5", "did you mean openai:gpt-5?"),
        ("opnai:gpt-5", "did you mean openai:gpt-5?"),
        ("gemni:gemini-flash-latest", "did you mean gemini:gemini-flash-latest?"),
        ("mistarl:codestral", "did you mean mistral:codestral?"),
        ("depseek:deepseek-chat", "did you mean deepseek:deepseek-chat?"),
        ("xia:grok-4", "did you mean xai:grok-4?"),
        # The prefix is a kind or a vendor, for which no provider is configured.
        ("openai:gpt-5", "available: copilot, local, groq, claude, gateway, ollama"),
        ("openai-responses:gpt-5", "available: copilot"),
        ("mistral:open-weights", "available: copilot"),
        ("meta-llama:llama-4", "available: copilot"),
    ],
)
async def test_a_mistyped_provider_kind_or_vendor_is_refused(name: str, meant: str) -> None:
    with pytest.raises(RequestError) as caught:
        await resolve_model(make_registry(), name)

    prefix = name.partition(":")[0]
    assert caught.value.message.startswith(
        f"The model {name!r} begins with {prefix!r}, which is not a provider"
    )
    assert meant in caught.value.message
    assert f"PROVIDER:{name}" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("provider", "addition"),
    [
        ("mistral", "To add Mistral, run `jumpseat keys set mistral`."),
        ("gemini", "To add Google Gemini, run `jumpseat keys set gemini`."),
        ("google", "To add Google Gemini, run `jumpseat keys set gemini`."),
        (
            "ollama",
            "To add Ollama, run `jumpseat config edit` and add to {file} a table `[providers.ollama]` with",
        ),
        ("copilot-language-server", None),
        ("meta-llama", None),
    ],
)
async def test_the_hint_explains_how_to_add_a_well_known_provider(
    provider: str, addition: str | None
) -> None:
    registry = registry_of(ScriptedAdapter(name="a"), default_provider="a")
    with pytest.raises(RequestError) as caught:
        await resolve_model(registry, f"{provider}:some-model")
    with pytest.raises(RequestError) as missing:
        registry.table(provider)

    expected = addition and addition.format(file=registry.config.file)
    hint = caught.value.hint or ""
    assert hint.startswith(expected or "Correct it. ")
    assert hint.endswith(f" If this is the model's own name, write PROVIDER:{provider}:some-model.")
    assert (missing.value.hint or "").startswith(expected or "Add a [providers.NAME] table to ")


async def test_a_misspelled_service_is_suggested_with_the_command_that_adds_it() -> None:
    registry = registry_of(ScriptedAdapter(name="a"), default_provider="a")
    with pytest.raises(
        RequestError, match=r"'grok', which is not a provider; did you mean groq:x\?"
    ) as caught:
        await resolve_model(registry, "grok:x")

    assert (caught.value.hint or "").startswith("To add Groq, run `jumpseat keys set groq`.")


@pytest.mark.parametrize(
    "name",
    [
        "qwen3:4b",
        "groqq:8b",
        "mistral:7b-instruct-q4_K_M",
        "mixtral:8x7b",
        "deepseek-r1:1.5b",
        "mistral:latest",
        "mistral:V0.3",
        "gemma3n:e4b",
        "gpt-oss:120b-cloud",
        "deepseek/deepseek-r1:free",
        "anthropic.claude-3-5-sonnet-20241022-v2:0",
        "unheard-of:custom",
        "ft:gpt-4o-mini:my-company::abc",
        "no-colon",
        ":x",
    ],
)
async def test_a_name_with_a_tag_or_an_unknown_prefix_is_a_bare_name(name: str) -> None:
    target = await resolve_model(make_registry(), name)

    assert (target.provider, target.model) == ("groq", name)


@pytest.mark.parametrize("name", ["llama3:mine", "codellama:mine", "deepseek-r1:mine", "openchat:mine"])
async def test_a_models_name_may_resemble_a_service(name: str) -> None:
    assert await explain_model_fault(registry_of(ScriptedAdapter(name="a")), name) is None


@pytest.mark.parametrize("name", ["mistral:own", "openai:mine"])
async def test_a_configured_model_may_have_any_prefix(name: str) -> None:
    assert await explain_model_fault(make_registry(), name) is None


async def test_a_listed_model_may_have_any_prefix() -> None:
    registry = registry_of(ScriptedAdapter(name="a", models=["openai:x"]), default_provider="a")
    assert await explain_model_fault(registry, "openai:x") is not None

    await registry.list_models("a")
    assert await explain_model_fault(registry, "openai:x") is None


async def test_a_mistyped_default_model_is_reported_as_such() -> None:
    registry = registry_of(ScriptedAdapter(name="groq"), default_model="grok:x")

    with pytest.raises(RequestError, match=r"^The default model 'grok:x' begins .* did you mean groq:x\?$"):
        await resolve_model(registry, None)


async def test_config_check_finds_a_default_model_that_is_mistyped(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('# A comment.\ndefault_model = "groqq:x"\n[providers.groq]\nkind = "openai"', "utf-8")
    (fault,) = (await check_file(file, environment_of_process())).errors

    assert (fault.key, fault.line) == ("default_model", 2)
    assert fault.message == "begins with 'groqq', which is not a provider; did you mean groq:x?"


@pytest.mark.requirement("4:nearest-names")
async def test_an_unknown_model_is_reported_with_similar_listed_ones() -> None:
    def refusal() -> UnknownModelError:
        return UnknownModelError("The provider fake has no model 'gpt-41'.", hint="Choose another.")

    adapter = ScriptedAdapter([refusal()], [refusal()], models=["gpt-4.1", "gpt-4o", "o3"])
    registry = registry_of(adapter)
    for listed in (False, True):
        if listed:
            await registry.list_models("fake")
        with pytest.raises(UnknownModelError) as caught:
            await run_turn(registry, ask(model="fake:gpt-41"), RecordingSink())

        suggested = "Did you mean fake:gpt-4.1 or fake:gpt-4o? " if listed else ""
        assert caught.value.hint == f"{suggested}Choose another."


@pytest.mark.requirement("4:nearest-names")
async def test_an_unknown_provider_and_an_unknown_kind_are_reported_with_the_nearest() -> None:
    registry = registry_of(ScriptedAdapter(name="groq"), tables={"typo": {"kind": "opena"}})
    with pytest.raises(RequestError, match=r"named 'qroq'; did you mean groq\? Available: copilot, local,"):
        registry.table("qroq")
    with pytest.raises(ConfigError, match=r"there is no kind 'opena'; did you mean openai\? Known kinds are"):
        registry.adapter("typo")

    registry.config.default_provider = "gruq"
    with pytest.raises(ConfigError, match=r"'gruq', which does not exist; did you mean groq\?"):
        await ensure_default_provider(registry)


@pytest.mark.requirement("4:nearest-names")
async def test_a_wrong_name_in_saved_settings_is_reported_with_the_nearest() -> None:
    registry = registry_of(ScriptedAdapter(name="groq"))
    schemas = await registry.settings_schemas("groq")
    patch = {"max_token": 1, "default_provider": "grok", "providers": {"grop": {"x": 1}, "groq": {"topp": 1}}}
    with pytest.raises(InvalidRequestError) as caught:
        await SavedSettings().save(patch, schemas)

    messages = {each.path.removeprefix("settings."): each.message for each in caught.value.problems}
    assert {
        key: words.partition("did you mean ")[2].partition("?")[0] for key, words in messages.items()
    } == {
        "max_token": "max_tokens",
        "default_provider": "groq",
        "providers.grop": "groq",
        "providers.groq.topp": "top_p",
    }


def test_the_nearest_names_are_found_for_any_case_and_length() -> None:
    assert find_similar("MAX-TOKENS", ["min_tokens", "max_tokens"]) == ["max_tokens"]
    assert find_similar("a" * 1_000_000, ["b", "a" * 1_000_000]) == []
    assert alternatives("x", ["groq", "local"]) == "; available: groq, local"
