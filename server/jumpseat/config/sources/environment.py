"""`env:NAME`: an environment variable."""

from __future__ import annotations

from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource


def _read(name: str, table: ProviderConfig) -> str:
    # Strip the value: a variable that was set from a file's content often ends with a line break.
    value = table.origin.environment.get(name).strip()
    if not value:
        raise SourceError(
            f"the environment variable {name} is not set",
            f"Set {name} in the environment that jumpseat is started in, and start it again.",
        )
    return value


ENVIRONMENT = ValueSource(prefix="env:", read_now=_read)
