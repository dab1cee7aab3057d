"""What the Copilot language server tells of limits, beside its answers.

Pure. Above it is `conversation`, which tells it on to the chats that run, and `progress`. Source: two
notifications of `@github/copilot-language-server` 1.539, `$/copilot/rateLimitWarning` with `{type, rateLimit:
{entitlement, percentRemaining, resetDate}, message}`, and `copilot/quotaWarning` with `{title, message,
severity, …}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jumpseat.adapters.copilot_language_server.words import shown

_METHODS = ("$/copilot/rateLimitWarning", "copilot/quotaWarning")


@dataclass(frozen=True, slots=True)
class Notice:
    """A limit that comes near, or is reached."""

    message: str
    reset_at: datetime | None = None
    """When the limit of requests ends that is used up; None while something is left, or nothing says when."""


def notice_in(method: str, params: Any) -> Notice | None:
    """The notice that a notification is; None for any other one, and for one that says nothing."""
    if method not in _METHODS or not isinstance(params, Mapping):
        return None
    told, limit = params.get("message"), params.get("rateLimit")
    message = shown(told) if isinstance(told, str) else ""
    if not message:
        return None
    if isinstance(limit, Mapping) and _is_used_up(limit.get("percentRemaining")):
        return Notice(message, _moment(limit.get("resetDate")))
    return Notice(message)


def _is_used_up(left: Any) -> bool:
    return isinstance(left, int | float) and not isinstance(left, bool) and left <= 0


def _moment(text: Any) -> datetime | None:
    """An ISO date and time, as UTC's; without an offset it is that already."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
