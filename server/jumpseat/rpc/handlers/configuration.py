"""Handles `workspace/didChangeConfiguration`, and notifies the client about its configuration.

See `docs/protocol/lifecycle.md`.
"""

from __future__ import annotations

import logging

from jumpseat.config import Config
from jumpseat.connections.configuration import ConfigurationListener, list_faults, reread
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.rpc.handlers.prompts import DID_CHANGE as PROMPTS_DID_CHANGE
from jumpseat.rpc.params import DidChangeConfigurationParams

logger = logging.getLogger(__name__)

DID_CHANGE = "workspace/didChangeConfiguration"
SHOW_MESSAGE = "window/showMessage"
ERROR = 1
"""LSP's `MessageType` of an error."""


def listener_of(session: Session) -> ConfigurationListener:
    """Return the callbacks that notify the client about its configuration."""

    def on_change(before: Config) -> None:
        if session.registry.config.offered_prompts != before.offered_prompts:
            session.outbox.notify(PROMPTS_DID_CHANGE, {})
        show_faults(session, before)

    return ConfigurationListener(lambda message: show_message(session, message), on_change)


async def did_change_configuration(session: Session, call: MethodCall[DidChangeConfigurationParams]) -> None:
    """Reread the configuration file; `settings.jumpseat`, if present, replaces the overlay."""
    overlay = call.params.settings.get("jumpseat")
    if not isinstance(overlay, dict | list | None):
        logger.warning("%s: settings.jumpseat must be an object; it is ignored", DID_CHANGE)
        overlay = None
    # An empty object means absent, and so does an array: Lua encodes an empty object as an empty array.
    given = overlay if isinstance(overlay, dict) and overlay else None
    await reread(session, listener_of(session), given)


def show_faults(session: Session, before: Config | None = None) -> None:
    """Show the user the faults of the configuration, except those that `before` already had."""
    for fault in list_faults(session.registry.config, before):
        show_message(session, fault)


def show_message(session: Session, message: str) -> None:
    """Show the user a sentence with the LSP notification `window/showMessage`."""
    session.outbox.notify(SHOW_MESSAGE, {"type": ERROR, "message": message})
