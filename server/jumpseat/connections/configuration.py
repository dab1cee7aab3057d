"""Reads and follows the configuration of a session.

If a new configuration cannot be used, the previous one stays in effect and the client is notified. Running
turns continue with the adapters with which they started.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jumpseat.adapters.base import ClientInfo
from jumpseat.chat import ConfigError
from jumpseat.config import Config, FaultyConfigError, SavedSettings, load_config, saved_settings_file
from jumpseat.connections.session import Session
from jumpseat.providers import BUILT_IN, KINDS, Registry
from jumpseat.system.threads import run_blocking
from jumpseat.system.watch import Watcher

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConfigurationListener:
    """The callbacks that notify a client about its configuration."""

    on_fault: Callable[[str], None]
    """Called with a text for the user if a new configuration cannot be used."""

    on_change: Callable[[Config], None]
    """Called with the previous configuration after a new one has taken effect."""


def open_registry(session: Session, overlay: Mapping[str, Any] | None, client: ClientInfo | None) -> None:
    """Read the configuration and create the session's registry. Blocks.

    Args:
        session: a session without a registry; unchanged after an error.
        overlay: the client's own configuration.
        client: the name and version of the client.

    Raises:
        ConfigError: see `load_config`.
    """
    config = read_configuration(session, overlay)
    session.overlay = overlay
    session.registry = Registry(config, SavedSettings(saved_settings_file(session.environment.places)))
    session.client_info = client
    if client is not None:
        session.registry.client_info = client


def read_configuration(session: Session, overlay: Mapping[str, Any] | None) -> Config:
    """Read the configuration file and apply the client's overlay. Blocks.

    Raises:
        ConfigError: see `load_config`.
    """
    return load_config(
        session.config_file, overlay, environment=session.environment, built_in=BUILT_IN, kinds=KINDS
    )


def create_watcher(session: Session) -> Watcher:
    """Return a watcher of the configuration file.

    Call this before reading the file, so that no change is missed.
    """
    environment = session.environment
    named = session.config_file
    return Watcher([environment.places.config_file if named is None else environment.directory / named])


def follow_configuration(session: Session, watcher: Watcher, listener: ConfigurationListener) -> None:
    """Follow the configuration file, the saved settings and the sign-ins until the connection ends."""

    async def follow() -> None:
        async for _ in watcher:
            await reread(session, listener)

    session.run_in_background("following the configuration file", follow)
    session.run_in_background("following the saved settings", session.registry.saved.watch)
    session.run_in_background("watching for sign-ins", session.registry.watch_files)


def list_faults(config: Config, before: Config | None = None) -> Iterator[str]:
    """Yield the first fault in the table of each provider, prompt and MCP server, as a sentence for the user.

    Args:
        config: the configuration.
        before: the previous configuration. Its faulty tables are skipped: the user already knows them.
    """
    for group in ("faults", "faults_of_prompts", "faults_of_mcp"):
        known = getattr(before, group) if before is not None else {}
        for name, faults in getattr(config, group).items():
            if name not in known:
                yield FaultyConfigError(faults).message


async def reread(
    session: Session, listener: ConfigurationListener, overlay: Mapping[str, Any] | None = None
) -> None:
    """Read the configuration and use it. If that is not possible, notify the client and change nothing.

    Args:
        session: the session of the connection.
        listener: called with the result.
        overlay: the client's new overlay; None for the last accepted one.
    """
    async with session.configuration_lock:
        if overlay is None:
            overlay = session.overlay
        try:
            config = await run_blocking(read_configuration, session, overlay)
        except ConfigError as error:
            logger.error("the previous configuration stays in effect: %s %s", error.message, error.hint or "")
            listener.on_fault(f"The previous configuration stays in effect. {error.message}")
            return
        except Exception:
            logger.exception("the configuration cannot be read; the previous one stays in effect")
            return
        session.overlay = overlay
        before = session.registry.config
        # Only these requests may still use the adapters that `reconfigure` removes.
        using = [entry.finished for entry in session.in_flight.values()]
        retired = session.registry.reconfigure(config)
        obsolete = session.tools.reconfigure(config) if session.tools is not None else ()
        listener.on_change(before)
    for server in obsolete:
        session.run_in_background(f"closing the server {server.name}", server.retire)
    if retired:

        async def close() -> None:
            for finished in using:
                await finished.wait()
            await session.registry.close(retired)

        session.run_in_background("closing removed providers", close)
