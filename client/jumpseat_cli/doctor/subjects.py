"""The checks of one subject, and their state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jumpseat.chat import Check


@dataclass(frozen=True, slots=True)
class Subject:
    """The checks of one subject."""

    title: str
    checks: Sequence[Check]
    provider: str | None = None
    """The id of the provider that the checks are about."""

    @property
    def failures(self) -> int:
        """How many checks failed."""
        return sum(check.ok is False for check in self.checks)

    def rewritten(self, rewrite: Any) -> Subject:
        """The subject with each text rewritten."""
        checks = [
            replace(
                check,
                message=rewrite(check.message),
                hint=None if check.hint is None else rewrite(check.hint),
            )
            for check in self.checks
        ]
        return replace(self, checks=checks)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        shaped: dict[str, Any] = {"title": self.title}
        if self.provider is not None:
            shaped["provider"] = self.provider
        shaped["checks"] = [_as_dict(check) for check in self.checks]
        return shaped


def _as_dict(check: Check) -> dict[str, Any]:
    shaped: dict[str, Any] = {"name": check.name, "ok": check.ok, "message": check.message}
    if check.hint is not None:
        shaped["hint"] = check.hint
    if check.duration_ms is not None:
        shaped["durationMs"] = check.duration_ms
    return shaped
