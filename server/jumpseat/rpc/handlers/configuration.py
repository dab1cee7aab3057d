"""Reads and watches the configuration of a connection. Sections 1 and 7 of the protocol page.

If a new configuration cannot be used, the previous one stays in effect and the client is notified. Running
turns continue with their adapters.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from jumpseat.chat import ConfigError
from jumpseat.config import Config, error_of, load_config
from jumpseat.providers import BUILT_IN, KINDS
from jumpseat.rpc.handlers.prompts import DID_CHANGE as PROMPTS_DID_CHANGE
from jumpseat.rpc.method import MethodCall
from jumpseat.rpc.params import DidChangeConfigurationParams
from jumpseat.rpc.session import Session
from jumpseat.system.threads import run_blocking
from jumpseat.system.watch import Watcher

logger = logging.getLogger(__name__)

DID_CHANGE = "workspace/didChangeConfiguration"
SHOW_MESSAGE = "window/showMessage"
ERROR = 1
"""The MessageType of LSP."""


def read_configuration(session: Session, overlay: Mapping[str, Any] | None) -> Config:
    """Read the configuration file and apply the client's overlay. Blocks.

    Raises:
        ConfigError: see `load_config`.
    """
    return load_config(
        session.config_file, overlay, environment=session.environment, built_in=BUILT_IN, kinds=KINDS
    )


def create_watcher(session: Session) -> Watcher:
    """Return a watcher of the configuration file. Call this before reading the file to detect all changes."""
    environment = session.environment
    named = session.config_file
    return Watcher([environment.places.config_file if named is None else environment.directory / named])


def follow_configuration(session: Session, watcher: Watcher) -> None:
    """Reread the file whenever it changes, as long as the connection lasts."""

    async def follow() -> None:
        async for _ in watcher:
            await reread(session)

    session.run_in_background("following the configuration file", follow)


async def did_change_configuration(session: Session, call: MethodCall[DidChangeConfigurationParams]) -> None:
    """Reread the file; `settings.jumpseat`, if present, replaces the overlay."""
    overlay = call.params.settings.get("jumpseat")
    if not isinstance(overlay, dict | list | None):
        logger.warning("%s: settings.jumpseat must be an object; it is ignored", DID_CHANGE)
        overlay = None
    # An empty object means absent, and so does an array: Lua encodes an empty object as one.
    await reread(session, overlay if isinstance(overlay, dict) and overlay else None)


async def reread(session: Session, overlay: Mapping[str, Any] | None = None) -> None:
    """Read the configuration and use it, or notify the client and change nothing if that is not possible.

    Args:
        session: the session of the connection.
        overlay: the client's new configuration; None for the last accepted one.
    """
    async with session.configuration_lock:
        if overlay is None:
            overlay = session.overlay
        try:
            config = await run_blocking(read_configuration, session, overlay)
        except ConfigError as error:
            logger.error("the previous configuration stays in effect: %s %s", error.message, error.hint or "")
            show_message(session, f"The previous configuration stays in effect. {error.message}")
            return
        except Exception:
            logger.exception("the configuration cannot be read; the previous one stays in effect")
            return
        session.overlay = overlay
        before = session.registry.config
        # Requests that arrive after this line use the new adapters.
        using = [entry.finished for entry in session.in_flight.values()]
        retired = session.registry.reconfigure(config)
        if config.prompts != before.prompts:
            session.outbox.notify(PROMPTS_DID_CHANGE, {})
        show_faults(session, before)
    if retired:

        async def close() -> None:
            # Any request in flight may still use a removed adapter.
            for finished in using:
                await finished.wait()
            await session.registry.close(retired)

        session.run_in_background("closing removed providers", close)


def show_faults(session: Session, before: Config | None = None) -> None:
    """Show the user the first fault in the table of each provider and prompt.

    Args:
        session: a session that has a configuration.
        before: the previous configuration, whose faults the user has already seen.
    """
    config = session.registry.config
    of_providers, of_prompts = (before.faults, before.faults_of_prompts) if before else ({}, {})
    for faults, known in ((config.faults, of_providers), (config.faults_of_prompts, of_prompts)):
        for name, of_one in faults.items():
            if name not in known:
                show_message(session, error_of(of_one).message)


def show_message(session: Session, message: str) -> None:
    """Show the user a sentence with the LSP notification `window/showMessage`."""
    session.outbox.notify(SHOW_MESSAGE, {"type": ERROR, "message": message})
