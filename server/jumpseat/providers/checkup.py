"""Everything that can be found wrong in a configuration file without asking anybody, for a person to see.

Above it is the command line; below it the registry. Nothing is sent, and no credential is read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumpseat.chat import ChatError, ConfigError
from jumpseat.config import Config, check_settings
from jumpseat.config.faults import Fault
from jumpseat.config.load import load_with_warnings
from jumpseat.config.paths import config_file
from jumpseat.config.places import KeyPath, line_of
from jumpseat.config.reading import FaultyConfigError, read
from jumpseat.providers.checkup_values import faults_of_values
from jumpseat.providers.kinds import BUILT_IN, KINDS
from jumpseat.providers.registry import Registry


@dataclass(frozen=True, slots=True)
class Checkup:
    """What is wrong in one file. Warnings are what the daemon passes over."""

    file: Path
    exists: bool
    errors: Sequence[Fault] = ()
    warnings: Sequence[Fault] = ()


async def check_file(path: Path | None) -> Checkup:
    """Read a configuration file as the daemon would, and make every provider of it.

    Args:
        path: the file; None for the usual places.
    """
    file = path or config_file()
    try:
        config, warnings = load_with_warnings(path, None, built_in=BUILT_IN, kinds=KINDS)
    except FaultyConfigError as error:
        return Checkup(file, exists=True, errors=error.faults)
    except ConfigError as error:
        return Checkup(file, exists=file.exists(), errors=[Fault(str(file), "", error.message.rstrip("."))])
    lines = read(file, required=False).lines()
    errors = [fault for faults in config.faults.values() for fault in faults]
    async for key, told in _providers_faults(config):
        errors.append(Fault(str(file), ".".join(map(str, key)), told, line_of(key, lines)))
    errors.sort(key=lambda fault: fault.line or 0)
    return Checkup(file, exists=file.exists(), errors=errors, warnings=warnings)


async def _providers_faults(config: Config) -> AsyncIterator[tuple[KeyPath, str]]:
    """What only the providers themselves know to be wrong: a kind, keys of a plug-in, values of settings."""
    registry = Registry(config)
    try:
        await registry.prepare(*registry.ids)
        named = config.default_provider
        if named is not None and named not in registry.ids:
            yield ("default_provider",), f"there is no such provider; there are {', '.join(registry.ids)}"
        for provider, table in config.providers.items():
            for path, told in faults_of_values(provider, table):
                yield ("providers", provider, *path), told
            try:
                registry.adapter(provider)
            except ChatError as error:
                yield _located(provider, error.message)
        for path, told in _settings_faults(registry):
            yield path, told
    finally:
        await registry.aclose()


def _located(provider: str, message: str) -> tuple[KeyPath, str]:
    """The key that a message begins with, and the rest; the provider's table where it begins with none."""
    key, colon, told = message.rstrip(".").partition(": ")
    prefix = f"providers.{provider}"
    if colon and (key == prefix or key.startswith(f"{prefix}.")):
        return ("providers", provider, *filter(None, key.removeprefix(prefix).split("."))), told
    return ("providers", provider), message.rstrip(".")


def _settings_faults(registry: Registry) -> Iterator[tuple[KeyPath, str]]:
    """Values under `settings` that chats would leave out without a word."""
    settings = registry.config.settings
    limit = settings.get("max_tokens")
    if limit is not None and not (type(limit) is int and limit > 0):
        yield ("settings", "max_tokens"), "must be an integer of at least 1"
    tables = settings.get("providers", {})
    if not isinstance(tables, Mapping):
        yield ("settings", "providers"), "must be a table"
        return
    for provider, values in tables.items():
        path: KeyPath = ("settings", "providers", provider)
        if provider not in registry.ids:
            yield path, f"is no provider; there are {', '.join(registry.ids)}"
        elif not isinstance(values, Mapping):
            yield path, "must be a table"
        elif provider not in registry.config.faults:
            for problem in check_settings(registry.settings_rows(provider), dict(values)):
                yield (*path, problem.path.removeprefix("settings.")), problem.message
