"""Results of checking a provider."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool | None
    """Whether the check passed; None if it found no fault but could not verify anything."""

    message: str
    """A sentence that contains no secret."""

    hint: str | None = None
    duration_ms: int | None = None
