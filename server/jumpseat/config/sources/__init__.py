"""The value sources by prefix. Each has a module and an entry in `SOURCES`."""

from __future__ import annotations

from collections.abc import Mapping

from jumpseat.chat import ConfigError
from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource
from jumpseat.config.sources.command import COMMAND
from jumpseat.config.sources.environment import ENVIRONMENT
from jumpseat.config.sources.file import FILE
from jumpseat.config.sources.function import FUNCTION
from jumpseat.config.sources.keyring import KEYRING
from jumpseat.config.sources.own_table import OWN_TABLE
from jumpseat.config.table_names import name_key

SOURCES: Mapping[str, ValueSource] = {
    source.prefix: source
    for source in (
        ENVIRONMENT,
        COMMAND,
        FILE,
        KEYRING,
        FUNCTION,
        OWN_TABLE,
    )
}

__all__ = [
    "SOURCES",
    "SourceError",
    "ValueSource",
    "fault_of_source",
    "mask_source",
    "read_source",
    "source_error",
    "source_of",
    "source_prefix",
]


def source_of(value: str) -> ValueSource | None:
    """Return the source that a configured value refers to; None for a plain value."""
    return next((source for prefix, source in SOURCES.items() if value.startswith(prefix)), None)


def source_prefix(value: str) -> str | None:
    """Return the prefix of the source that a configured value refers to; None for a plain value."""
    source = source_of(value)
    return None if source is None else source.prefix


def fault_of_source(value: str, table: ProviderConfig) -> str | None:
    """Check the syntax of a value that refers to a source, without reading the source.

    Returns the fault as the end of a sentence; None if there is no fault, or if the value is plain.
    """
    source = source_of(value)
    if source is None:
        return None
    argument = value.removeprefix(source.prefix)
    if source.find_fault is not None:
        return source.find_fault(argument, table)
    return None if argument else f"has nothing after {source.prefix}"


def mask_source(value: str) -> str:
    """Return a value that refers to a source, without any part that may be a secret."""
    source = source_of(value)
    return value if source is None else source.prefix + source.mask(value.removeprefix(source.prefix))


def source_error(provider: str, key: str, value: str, error: SourceError) -> ConfigError:
    """Return the error for a source that has no value."""
    return ConfigError(
        f"{name_key(provider, key)} is {mask_source(value)}, but {error}.",
        provider=provider,
        hint=error.hint,
    )


async def read_source(value: str, table: ProviderConfig) -> str:
    """Read the value of a source whose `read` is set.

    Raises:
        SourceError: the source has no value.
    """
    source = source_of(value)
    result = ""
    if source is not None and source.read is not None:
        result = await source.read(value.removeprefix(source.prefix), table)
    if not result:
        raise SourceError("its value is empty", "Set the value there, or use another source.")
    return result
