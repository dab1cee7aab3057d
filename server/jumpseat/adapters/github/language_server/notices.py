"""What the Copilot language server reports about limits, outside its answers. Pure.

Source: two notifications of `@github/copilot-language-server` 1.539, `$/copilot/rateLimitWarning` with
`{type, rateLimit: {entitlement, percentRemaining, resetDate}, message}`, and `copilot/quotaWarning` with
`{title, message, severity, …}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jumpseat.adapters.github.language_server.words import shown
from jumpseat.dialects.loose_values import mapping_in, moment_in, number_in, text_in

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
    message = shown(text_in(params.get("message")))
    if not message:
        return None
    limit = mapping_in(params.get("rateLimit"))
    left = number_in(limit.get("percentRemaining"))
    is_used_up = left is not None and left <= 0
    return Notice(message, moment_in(limit.get("resetDate")) if is_used_up else None)
