"""Changes below, as notifications to the client: the one place that turns one into the other.

`initialize` starts the forwarding for a connection's registry.
"""

from __future__ import annotations

from typing import Any

from jumpseat.providers import AuthChanged, Change, ModelsChanged, ProvidersChanged, Registry
from jumpseat.rpc.encode import auth_to_wire
from jumpseat.rpc.outbox import Outbox


def forward_changes(registry: Registry, outbox: Outbox) -> None:
    """Notify the client of every change of its registry from now on."""

    def notify(change: Change) -> None:
        method, params = notification_of(change)
        outbox.notify(method, params)

    registry.subscribe(notify)


def notification_of(change: Change) -> tuple[str, dict[str, Any]]:
    """The method and the params that tell a client of a change."""
    match change:
        case ModelsChanged(provider):
            return "models/didChange", {"provider": provider}
        case ProvidersChanged():
            return "providers/didChange", {}
        case AuthChanged(status):
            return "auth/didChange", auth_to_wire(status)
