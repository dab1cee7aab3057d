"""Notifies the client about changes in the registry."""

from __future__ import annotations

from typing import Any

from jumpseat.connections.session import Session
from jumpseat.connections.wording import insert_commands
from jumpseat.providers import AuthChanged, Change, ModelsChanged, ProvidersChanged
from jumpseat.rpc.encode import object_to_wire


def forward_changes(session: Session) -> None:
    """Notify the client about every change from now on."""

    def notify(change: Change) -> None:
        method, params = to_notification(change)
        session.outbox.notify(method, insert_commands(params, session.commands))

    session.registry.subscribe(notify)


def to_notification(change: Change) -> tuple[str, dict[str, Any]]:
    """Return the method and the params of the notification for a change."""
    match change:
        case ModelsChanged(provider):
            return "models/didChange", {"provider": provider}
        case ProvidersChanged():
            return "providers/didChange", {}
        case AuthChanged(status):
            return "auth/didChange", object_to_wire(status)
