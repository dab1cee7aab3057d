"""Parses the Copilot language server's notifications about limits. Pure functions.

Source: two notifications of `@github/copilot-language-server` 1.539, `$/copilot/rateLimitWarning` with
`{type, rateLimit: {entitlement, percentRemaining, resetDate}, message}`, and `copilot/quotaWarning` with
`{title, message, severity, …}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jumpseat.adapters.github.language_server.words import clean_text
from jumpseat.dialects.loose_values import mapping_in, moment_in, number_in, text_in

_METHODS = ("$/copilot/rateLimitWarning", "copilot/quotaWarning")


@dataclass(frozen=True, slots=True)
class Notice:
    """A limit that is nearly or completely used up."""

    message: str
    reset_at: datetime | None = None
    """The time at which a used-up rate limit ends; None if it is unknown, or the limit is not used up."""


def notice_in(method: str, params: Any) -> Notice | None:
    """Return the notice in a notification; None for any other notification, or one without a message."""
    if method not in _METHODS or not isinstance(params, Mapping):
        return None
    message = clean_text(text_in(params.get("message")))
    if not message:
        return None
    limit = mapping_in(params.get("rateLimit"))
    remaining = number_in(limit.get("percentRemaining"))
    is_used_up = remaining is not None and remaining <= 0
    return Notice(message, moment_in(limit.get("resetDate")) if is_used_up else None)
