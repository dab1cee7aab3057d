"""Checks a configuration file, and the programs and files that its providers need on this machine.

Does not send requests or read credentials.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpseat.adapters.base import Adapter, ChecksSetup
from jumpseat.chat import ChatError, ConfigError
from jumpseat.config import Config, ProviderConfig, check_settings
from jumpseat.config.faults import Fault
from jumpseat.config.load import find_warnings
from jumpseat.config.places import KeyPath, line_of
from jumpseat.config.reading import extract_sound_part, read_tables
from jumpseat.config.suggestions import alternatives
from jumpseat.config.table_names import MCP_PREFIX, PAGES
from jumpseat.providers.checkup_values import (
    find_network_faults,
    find_value_faults,
    find_value_warnings,
    split_location,
)
from jumpseat.providers.kinds import KINDS
from jumpseat.providers.mistyped_names import explain_model_fault
from jumpseat.providers.names import find_configured_provider
from jumpseat.providers.registry import Registry
from jumpseat.system.environment import Environment


@dataclass(frozen=True, slots=True)
class Checkup:
    """The faults of one file."""

    file: Path
    exists: bool
    errors: Sequence[Fault] = ()
    warnings: Sequence[Fault] = ()


async def check_file(path: Path | None, environment: Environment) -> Checkup:
    """Read a configuration file as the daemon does, and create the adapter of every provider in it.

    Args:
        path: the file; None for the usual location.
        environment: the user's environment.
    """
    file = environment.places.config_file if path is None else environment.directory / path
    try:
        source = read_tables(file, required=path is not None)
    except ConfigError as error:
        return Checkup(file, exists=file.exists(), errors=[Fault(str(file), "", error.message.rstrip("."))])
    config, found = extract_sound_part(source, KINDS)
    config.note_origins(file, source.tables, environment)
    errors = [fault for _, fault in found]
    warnings = list(find_warnings(config, config, source, KINDS))
    lines = source.lines()
    prompts = source.tables.get("prompts")
    further = _find_further_faults(
        config, [path for path, _ in found], prompts if isinstance(prompts, Mapping) else {}
    )
    async for key, message, is_error in further:
        fault = Fault(str(file), ".".join(map(str, key)), message, line_of(key, lines))
        (errors if is_error else warnings).append(fault)
    for faults in (errors, warnings):
        faults.sort(key=lambda fault: fault.line or 0)
    return Checkup(file, exists=file.exists(), errors=errors, warnings=warnings)


async def _find_further_faults(
    config: Config, found: Collection[KeyPath], prompts: Mapping[str, Any]
) -> AsyncIterator[tuple[KeyPath, str, bool]]:
    """Yield the faults that are not found by reading the file.

    Each fault is a path, a message, and whether the fault is an error or only a warning.

    Args:
        config: the configuration without invalid values.
        found: the paths of the invalid values.
        prompts: the unchecked tables of the prompts.
    """
    registry = Registry(config)
    incomplete = {path[1] for path in found if path[0] == "providers" and len(path) > 1}
    try:
        await registry.prepare(*registry.ids)
        named = config.default_provider
        if named is not None and named not in registry.ids and named not in incomplete:
            message = f"there is no such provider{alternatives(named, registry.ids)}"
            yield ("default_provider",), message, True
        model = config.default_model
        if model is not None and (mistyped := await explain_model_fault(registry, model)) is not None:
            yield ("default_model",), mistyped, True
        for provider in config.providers:
            known = {path[2:] for path in found if path[:2] == ("providers", provider)}
            async for path, message, is_error in _find_table_faults(registry, provider, known):
                yield ("providers", provider, *path), message, is_error
        if named is not None and named in registry.ids and named not in config.providers:
            # A built-in provider is checked only if the file names it.
            try:
                _check_adapter(registry.adapter(named))
            except ChatError as error:
                yield ("default_provider",), _append_hint(error.message.rstrip("."), error), True
        for name, prompt in prompts.items():
            model = prompt.get("model") if isinstance(prompt, Mapping) else None
            if isinstance(model, str) and (mistyped := await explain_model_fault(registry, model)):
                yield ("prompts", name, "model"), mistyped, True
        for path, message in _find_settings_faults(registry, incomplete):
            yield path, message, True
        for path, message in find_network_faults(PAGES, config.fetch_network):
            yield ("fetch", *path), message, True
        for path, message, is_error in _find_server_faults(config):
            yield path, message, is_error
    finally:
        await registry.aclose()


def _find_server_faults(config: Config) -> Iterator[tuple[KeyPath, str, bool]]:
    """Yield the faults of the values of MCP servers, in the form of `_find_further_faults`."""
    for name, server in config.mcp.items():
        table = server.value_table
        for path, message in find_value_faults(f"{MCP_PREFIX}{name}", table):
            yield ("mcp", name, *path), message, True
        for path, message in find_value_warnings(table):
            yield ("mcp", name, *path), message, False


async def _find_table_faults(
    registry: Registry, provider: str, known: Collection[KeyPath]
) -> AsyncIterator[tuple[KeyPath, str, bool]]:
    """Yield the faults of one provider in the form of `_find_further_faults`, but with paths below its table.

    An adapter reports one fault at a time, so the table is checked again after each faulty value is removed.

    Args:
        registry: the providers.
        provider: the provider's id.
        known: the paths of the values that were already found to be invalid, which are not in the table.
    """
    table: ProviderConfig | None = registry.table(provider)
    for path, message in find_value_warnings(registry.table(provider)):
        yield path, message, False
    seen = set(known)
    while table is not None:
        faults = list(find_value_faults(provider, table))
        if not faults:
            adapter_faults, notes = await _find_adapter_fault(registry.config, provider, table)
            for path, message in notes:
                yield path, message, False
            # Ignore a fault without a path after other faults: the removal of a value may have caused it.
            faults = [fault for fault in adapter_faults if fault[0] or not seen]
        new = [fault for fault in faults if fault[0] not in seen]
        if not new:
            return
        for path, message in new:
            yield path, message, True
            seen.add(path)
            table = None if table is None else _remove_value(table, path)


async def _find_adapter_fault(
    config: Config, provider: str, table: ProviderConfig
) -> tuple[list[tuple[KeyPath, str]], list[tuple[KeyPath, str]]]:
    """Return the fault that prevents the creation of a provider's adapter, if any, and the adapter's notes.

    The fault and each note are a path below the provider's table and a message.
    """
    registry = Registry(config.model_copy(update={"providers": {provider: table}}))
    try:
        await registry.prepare(provider)
        return [], [
            split_location(provider, sentence) for sentence in _check_adapter(registry.adapter(provider))
        ]
    except ChatError as error:
        path, message = split_location(provider, error.message)
        return [(path, _append_hint(message, error))], []
    finally:
        await registry.aclose()


def _remove_value(table: ProviderConfig, path: KeyPath) -> ProviderConfig | None:
    """Return the table without the value at a path; None if there is no such value or it is required."""
    key = str(path[0]) if path else "kind"
    rest = table.model_copy()
    if key in (rest.model_extra or {}):
        del (rest.model_extra or {})[key]
        return rest
    if key == "kind" or key not in table.model_fields_set:
        return None
    value = getattr(table, key)
    if len(path) > 1 and isinstance(value, Mapping) and path[1] in value:
        return table.model_copy(update={key: {name: each for name, each in value.items() if name != path[1]}})
    default = ProviderConfig.model_fields[key].get_default(call_default_factory=True)
    return table.model_copy(update={key: default})


def _check_adapter(adapter: Adapter) -> Sequence[str]:
    return adapter.check() if isinstance(adapter, ChecksSetup) else ()


def _append_hint(message: str, error: ChatError) -> str:
    return f"{message}. {error.hint.rstrip('.')}" if error.hint else message


def _find_settings_faults(
    registry: Registry, incomplete: Collection[str | int]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield values under `settings` that chats would ignore, and prompt settings that would fail."""
    settings = registry.config.settings
    for name, prompt in registry.config.prompts.items():
        provider = find_configured_provider(registry, prompt.model)
        if provider is not None and provider not in incomplete:
            for problem in check_settings(registry.settings_rows(provider), prompt.settings):
                key = problem.path.removeprefix("settings.")
                yield ("prompts", name, "settings", key), problem.message
    limit = settings.get("max_tokens")
    if limit is not None and not (type(limit) is int and limit > 0):
        yield ("settings", "max_tokens"), "must be an integer of at least 1"
    tables = settings.get("providers", {})
    if not isinstance(tables, Mapping):
        yield ("settings", "providers"), "must be a table"
        return
    for provider, values in tables.items():
        path: KeyPath = ("settings", "providers", provider)
        if provider in incomplete:
            continue  # This provider's settings rows may be faulty themselves.
        if provider not in registry.ids:
            yield path, f"is not a provider{alternatives(provider, registry.ids)}"
        elif not isinstance(values, Mapping):
            yield path, "must be a table"
        else:
            for problem in check_settings(registry.settings_rows(provider), dict(values)):
                yield (*path, problem.path.removeprefix("settings.")), problem.message
