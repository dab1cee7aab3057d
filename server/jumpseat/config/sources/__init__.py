"""Value sources: where a configured value comes from, by its prefix. One module and one row each."""

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
    "failed",
    "fault_of_source",
    "read_source",
    "source_of",
    "source_prefix",
]


def source_of(value: str) -> ValueSource | None:
    """The source that a configured value names, if it does."""
    return next((source for prefix, source in SOURCES.items() if value.startswith(prefix)), None)


def source_prefix(value: str) -> str | None:
    """The prefix of the source that a configured value names, if it does."""
    source = source_of(value)
    return None if source is None else source.prefix


def fault_of_source(value: str, table: ProviderConfig) -> str | None:
    """What is wrong with a value's form if it names a source, as the end of a sentence. Reads nothing."""
    source = source_of(value)
    if source is None:
        return None
    argument = value.removeprefix(source.prefix)
    if source.fault is not None:
        return source.fault(argument, table)
    return None if argument else f"has nothing behind {source.prefix}"


def failed(provider: str, key: str, value: str, error: SourceError) -> ConfigError:
    """The error for a source that gives no value."""
    source = source_of(value)
    shown = value if source is None else source.prefix + source.shown(value.removeprefix(source.prefix))
    return ConfigError(
        f"providers.{provider}.{key} is {shown}, but {error}.", provider=provider, hint=error.hint
    )


async def read_source(value: str, table: ProviderConfig) -> str:
    """What a source with `read` gives now.

    Raises:
        SourceError: it gives no value.
    """
    source = source_of(value)
    found = ""
    if source is not None and source.read is not None:
        found = await source.read(value.removeprefix(source.prefix), table)
    if not found:
        raise SourceError("it gives nothing", "Have it give the value, or use another source.")
    return found
