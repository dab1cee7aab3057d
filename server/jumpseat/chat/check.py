"""The result of one check of a provider."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool | None
    """None if nothing is wrong, and nothing was found out."""

    message: str
    """A sentence without a secret."""

    hint: str | None = None
    duration_ms: int | None = None
