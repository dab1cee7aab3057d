"""Selects the notifications that this client uses.

A server may send any number of other notifications, such as log messages, and the SDK would need 0.1 ms
of CPU time for each.
"""

from __future__ import annotations

from typing import Any

USED = frozenset(
    {
        "notifications/cancelled",
        "notifications/progress",
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    }
)


def is_used(message: Any) -> bool:
    """Whether a message is a response, a request, or a notification that is used."""
    if not isinstance(message, dict) or "id" in message or "method" not in message:
        return True
    return isinstance(message["method"], str) and message["method"] in USED
