"""Adds providers to the user's configuration file, from templates that a client shows as forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jumpseat.chat import ConfigError, InvalidRequestError
from jumpseat.config import FaultyConfigError, SettingRow
from jumpseat.config.editing import ConfigurationFile
from jumpseat.config.reading import Source, list_faults, validate_tables
from jumpseat.providers.keys import lock_configuration
from jumpseat.providers.kinds import BUILT_IN, KINDS
from jumpseat.providers.services import SERVICES, Service
from jumpseat.system.environment import Environment
from jumpseat.system.threads import run_blocking

BASE_URL = "base_url"
DEFAULT_MODEL = "default_model"

_OLLAMA_URL = "http://127.0.0.1:11434"


@dataclass(frozen=True, slots=True)
class ProviderTemplate:
    """A form for a new provider: a well-known service, or any provider of one kind."""

    id: str
    """The usual id of such a provider."""

    title: str
    kind: str
    needs_key: bool
    fields: Mapping[str, SettingRow]
    """The fields by their keys in the provider's table. Fields that are not `optional` are required."""


def _make_field(order: int, description: str, default: str | None = None) -> SettingRow:
    return SettingRow(type="string", order=order, description=description, default=default)


def _make_optional(row: SettingRow) -> SettingRow:
    return row.model_copy(update={"optional": True})


_ADDRESS = _make_field(0, "The address of the API, such as http://127.0.0.1:8080/v1.")
_MODEL = _make_optional(_make_field(1, "The model for chats that do not name one."))


def _make_template(service: Service) -> ProviderTemplate:
    fields = {}
    if service.table["kind"] == "ollama":
        fields[BASE_URL] = _make_field(0, "The address of the Ollama server.", _OLLAMA_URL)
    elif BASE_URL in service.table:
        fields[BASE_URL] = _make_field(0, "The address of the API.", service.table[BASE_URL])
    fields[DEFAULT_MODEL] = _MODEL.model_copy(update={"default": service.table[DEFAULT_MODEL]})
    return ProviderTemplate(
        service.id, service.title, service.table["kind"], service.variable is not None, fields
    )


_GENERIC = (
    ("server", "Another server with OpenAI's chat completions", "openai"),
    ("responses", "Another server with OpenAI's Responses API", "openai-responses"),
    ("messages", "Another server with Anthropic's Messages API", "anthropic"),
)

TEMPLATES = (
    *(_make_template(service) for service in SERVICES.values() if service.table),
    *(
        ProviderTemplate(name, title, kind, False, {BASE_URL: _ADDRESS, DEFAULT_MODEL: _MODEL})
        for name, title, kind in _GENERIC
    ),
)
"""The templates in the order in which clients list them: well-known services first."""


async def add_provider(
    provider: str, values: Mapping[str, str], file: Path, environment: Environment
) -> None:
    """Add a provider's table to the configuration file.

    Args:
        provider: the id of the new provider.
        values: the keys and values of its table, including `kind`.
        file: the configuration file, which may be missing.
        environment: the user's environment.

    Raises:
        InvalidRequestError: no template is of this kind.
        ConfigError: the provider exists, a value is not valid, or the file cannot be changed.
    """
    kinds = sorted({template.kind for template in TEMPLATES})
    if values["kind"] not in kinds:
        raise InvalidRequestError.at("kind", f"must be one of {', '.join(kinds)}")
    async with lock_configuration(environment):
        configuration = await run_blocking(ConfigurationFile, file)
        if provider in configuration.providers or provider in BUILT_IN:
            raise ConfigError(f"There is already a provider named {provider}.", hint="Choose another name.")
        source = Source(str(file), tables={"providers": {provider: values}})
        config, errors = validate_tables(source.tables, KINDS)
        if config is None:
            raise FaultyConfigError([fault for _, fault in list_faults(errors, source)], provider)
        await run_blocking(configuration.set, provider, values)
