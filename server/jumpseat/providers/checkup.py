"""Checks a configuration file, and the programs and files that its providers need on this machine.

Makes no requests and reads no credentials.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumpseat.adapters.base import Adapter, ChecksSetup
from jumpseat.chat import ChatError, ConfigError
from jumpseat.config import Config, check_settings
from jumpseat.config.faults import Fault
from jumpseat.config.load import warnings_of
from jumpseat.config.places import KeyPath, line_of
from jumpseat.config.reading import read, sound_part
from jumpseat.config.suggestions import alternatives
from jumpseat.providers.checkup_values import faults_of_values, located, warnings_of_values
from jumpseat.providers.kinds import KINDS
from jumpseat.providers.names import configured_provider, fault_of_model
from jumpseat.providers.registry import Registry
from jumpseat.system.environment import Environment


@dataclass(frozen=True, slots=True)
class Checkup:
    """The faults of one file. The daemon ignores what a warning is about."""

    file: Path
    exists: bool
    errors: Sequence[Fault] = ()
    warnings: Sequence[Fault] = ()


async def check_file(path: Path | None, environment: Environment) -> Checkup:
    """Read a configuration file as the daemon does, and construct every provider.

    Args:
        path: the file; None for the usual place.
        environment: the user's.
    """
    file = environment.places.config_file if path is None else environment.directory / path
    try:
        source = read(file, required=path is not None)
    except ConfigError as error:
        return Checkup(file, exists=file.exists(), errors=[Fault(str(file), "", error.message.rstrip("."))])
    config, found = sound_part(source, KINDS)
    tables = source.tables.get("providers")
    config.note_origins(file, tables if isinstance(tables, Mapping) else {}, environment)
    errors = [fault for _, fault in found]
    warnings = list(warnings_of(config, config, source, KINDS))
    lines = source.lines()
    async for key, message, is_error in _further_faults(config, [path for path, _ in found]):
        fault = Fault(str(file), ".".join(map(str, key)), message, line_of(key, lines))
        (errors if is_error else warnings).append(fault)
    for faults in (errors, warnings):
        faults.sort(key=lambda fault: fault.line or 0)
    return Checkup(file, exists=file.exists(), errors=errors, warnings=warnings)


async def _further_faults(
    config: Config, found: Collection[KeyPath]
) -> AsyncIterator[tuple[KeyPath, str, bool]]:
    """The faults that only the providers can find: key, message, and whether it is an error.

    Args:
        config: the configuration without invalid values.
        found: the paths of those values.
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
        if model is not None and (mistyped := await fault_of_model(registry, model)) is not None:
            yield ("default_model",), mistyped, True
        for provider in config.providers:
            table = registry.table(provider)
            for path, message in faults_of_values(provider, table):
                yield ("providers", provider, *path), message, True
            for path, message in warnings_of_values(table):
                yield ("providers", provider, *path), message, False
            if provider in incomplete:
                continue  # Its fault is known; the adapter would repeat it.
            try:
                for sentence in _check(registry.adapter(provider)):
                    path, message = located(provider, sentence)
                    yield ("providers", provider, *path), message, False
            except ChatError as error:
                path, message = located(provider, error.message)
                yield ("providers", provider, *path), _with_hint(message, error), True
        if named is not None and named in registry.ids and named not in config.providers:
            # A built-in provider is checked only if the file names it.
            try:
                _check(registry.adapter(named))
            except ChatError as error:
                yield ("default_provider",), _with_hint(error.message.rstrip("."), error), True
        for name, prompt in config.prompts.items():
            if prompt.model is not None and (mistyped := await fault_of_model(registry, prompt.model)):
                yield ("prompts", name, "model"), mistyped, True
        for path, message in _settings_faults(registry, incomplete):
            yield path, message, True
    finally:
        await registry.aclose()


def _check(adapter: Adapter) -> Sequence[str]:
    return adapter.check() if isinstance(adapter, ChecksSetup) else ()


def _with_hint(message: str, error: ChatError) -> str:
    return f"{message}. {error.hint.rstrip('.')}" if error.hint else message


def _settings_faults(registry: Registry, incomplete: Collection[str | int]) -> Iterator[tuple[KeyPath, str]]:
    """Values under `settings` that chats would ignore, and those of prompts that would fail."""
    settings = registry.config.settings
    for name, prompt in registry.config.prompts.items():
        provider = configured_provider(registry, prompt.model)
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
            continue  # The fault may be in its rows.
        if provider not in registry.ids:
            yield path, f"is not a provider{alternatives(provider, registry.ids)}"
        elif not isinstance(values, Mapping):
            yield path, "must be a table"
        else:
            for problem in check_settings(registry.settings_rows(provider), dict(values)):
                yield (*path, problem.path.removeprefix("settings.")), problem.message
