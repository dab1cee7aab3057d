"""Well-known providers, and the tables that configure them. The recipes page has the same tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jumpseat.config import ProviderConfig
from jumpseat.providers.snapshot import find_catalogue


@dataclass(frozen=True, slots=True)
class Service:
    """A well-known provider."""

    id: str
    title: str
    table: Mapping[str, str] = field(default_factory=dict)
    """The content of the provider's table; empty if the provider works without a table."""

    variable: str | None = None
    """The usual environment variable for the provider's key; None if it does not need a key."""

    next_step: str = ""
    """The command to run before the first chat; empty if there is none. Setting the key is not included."""


def _compatible_service(name: str, title: str, base_url: str, default_model: str) -> Service:
    table = {"kind": "openai", "base_url": base_url, "default_model": default_model}
    return Service(name, title, table, f"{name.upper()}_API_KEY")


SERVICES: Mapping[str, Service] = {
    service.id: service
    for service in (
        Service("copilot", "GitHub Copilot", next_step="jumpseat login"),
        Service("local", "A small model on this machine", next_step="jumpseat local install"),
        Service(
            "anthropic",
            "Anthropic",
            {"kind": "anthropic", "default_model": "claude-sonnet-4-6"},
            "ANTHROPIC_API_KEY",
        ),
        Service(
            "openai",
            "OpenAI",
            {"kind": "openai-responses", "default_model": "gpt-5-mini"},
            "OPENAI_API_KEY",
        ),
        _compatible_service(
            "gemini",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-flash-latest",
        ),
        _compatible_service("groq", "Groq", "https://api.groq.com/openai/v1", "llama-3.3-70b-versatile"),
        _compatible_service("mistral", "Mistral", "https://api.mistral.ai/v1", "mistral-medium-latest"),
        _compatible_service("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "deepseek-chat"),
        _compatible_service("xai", "xAI", "https://api.x.ai/v1", "grok-4.3"),
        _compatible_service(
            "openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.6"
        ),
        Service(
            "ollama",
            "Ollama",
            {"kind": "ollama", "default_model": "qwen3:4b"},
            next_step="ollama pull qwen3:4b",
        ),
    )
}

WITH_KEY = tuple(name for name, service in SERVICES.items() if service.variable is not None)
"""The ids of the services that need an API key. `jumpseat keys set` adds each of them."""


def explain_how_to_add(name: str, file: Path) -> str | None:
    """Explain in a sentence how to add a well-known provider to the configuration.

    None if the name is not known, or if the provider works without a table.

    Args:
        name: the provider's id, or the name of its catalogue in the snapshot.
        file: the configuration file.
    """
    with_table = {key: service for key, service in SERVICES.items() if service.table}
    named = [
        service for key, service in with_table.items() if name in (key, _find_service_catalogue(service))
    ]
    if not named:
        return None
    service = named[0]
    if service.variable is not None:
        return f"To add {service.title}, run `jumpseat keys set {service.id}`."
    keys = " and ".join(f'`{key} = "{value}"`' for key, value in service.table.items())
    return (
        f"To add {service.title}, run `jumpseat config edit` and add to {file} a table "
        f"`[providers.{service.id}]` with {keys}."
    )


def _find_service_catalogue(service: Service) -> str | None:
    base_url = service.table.get("base_url")
    return find_catalogue(ProviderConfig(kind=service.table["kind"], base_url=base_url))
