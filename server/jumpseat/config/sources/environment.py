"""`env:NAME`: an environment variable."""

from __future__ import annotations

import os

from jumpseat.config.sources.base import SourceError, ValueSource


def _read(name: str) -> str:
    # A value that is the last line of a file or a shell often includes the line end.
    found = os.environ.get(name, "").strip()
    if not found:
        raise SourceError(
            f"the environment variable {name} is not set",
            f"Set {name} in the environment that jumpseat is started in, and start it again.",
        )
    return found


ENVIRONMENT = ValueSource(prefix="env:", read_now=_read)
