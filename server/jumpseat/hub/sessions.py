"""The clients that are attached to this daemon, and their sessions from `go` to the exit code."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from jumpseat.connections.contract import Contract
from jumpseat.connections.serving import Descriptors, SessionOptions, serve_connection
from jumpseat.connections.session import Session
from jumpseat.hub.control import MalformedMessageError
from jumpseat.hub.control_connection import ControlConnection
from jumpseat.system.environment import Environment
from jumpseat.system.paths import Places
from jumpseat.system.shared import Shared
from jumpseat.system.threads import run_blocking

logger = logging.getLogger(__name__)

CONTRACTS = {"rpc": "jumpseat.rpc.contract", "acp": "jumpseat.acp.contract"}
"""The protocols of clients, with the modules that define their contracts."""

LEVELS = ("warning", "debug", "info", "error")
"""The values of `--log-level`, the default first."""

MAX_NAME_LENGTH = 100
"""The maximum length of a client's name or version in the status, which lists all clients in one message."""


@dataclass(slots=True, eq=False)
class AttachedClient:
    """A client that has sent its hello."""

    pid: int
    environment: Environment
    options: SessionOptions
    protocol: str
    attached_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    session: Session | None = None

    @classmethod
    def from_hello(cls, message: Mapping[str, Any], shared: Shared) -> AttachedClient:
        """Return the client for a hello. In a hello, surrogates stand for bytes that are not valid UTF-8.

        Raises:
            MalformedMessageError: the message is not a hello; the error does not quote it.
        """
        match message:
            case {
                "pid": int(pid),
                "variables": dict(variables),
                "directory": str(directory),
                "umask": int(umask),
                "places": [str(config_file), str(state_dir), str(data_dir)],
                "options": dict(options),
            } if 0 <= umask <= 0o777 and all(isinstance(value, str) for value in variables.values()):
                pass
            case _:
                raise MalformedMessageError("not a hello")
        protocol = message.get("protocol", "rpc")
        if not isinstance(protocol, str) or protocol not in CONTRACTS:
            raise MalformedMessageError("an unknown protocol")
        places = Places(Path(config_file), Path(state_dir), Path(data_dir))
        if not all(Path(each).is_absolute() for each in (directory, *places)):
            raise MalformedMessageError("a relative path")
        environment = Environment(variables, Path(directory), places, shared, umask)
        return cls(pid, environment, _parse_options(options), protocol)

    @property
    def config_file(self) -> Path:
        """The client's configuration file, which may not exist."""
        named = self.options.config_file
        return self.environment.places.config_file if named is None else self.environment.absolute_path(named)

    def status(self) -> dict[str, Any]:
        """Return the client's entry in the daemon's status."""
        info = self.session.client_info if self.session is not None else None
        requests = self.session.in_flight.values() if self.session is not None else ()
        entry = {
            "pid": self.pid,
            "name": _make_printable(info.name) if info is not None else None,
            "version": _make_printable(info.version) if info is not None else None,
            "attachedAt": self.attached_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "turns": sum(request.turn_id is not None for request in requests),
        }
        return {key: value for key, value in entry.items() if value is not None}

    async def serve(self, connection: ControlConnection) -> int:
        """Run the client's session on the streams that it passed. Return the exit code.

        The session also ends when the attach process does, because that closes the connection.
        """
        # Import the protocol only now, because most daemons have clients of one protocol only.
        module = await run_blocking(import_module, CONTRACTS[self.protocol])
        contract: Contract = module.CONTRACT
        streams = connection.take_descriptors()

        async def stop_on_disconnect() -> None:
            await connection.wait_until_ended()
            self.stop.set()

        watcher = asyncio.create_task(stop_on_disconnect())
        try:
            return await serve_connection(
                contract,
                Descriptors(*streams),
                self.environment,
                self.options,
                stop=self.stop,
                on_session=self._set_session,
            )
        except OSError as error:
            logger.warning("a client's streams cannot be used: %s", error.strerror)
            return 1
        finally:
            watcher.cancel()
            await asyncio.wait([watcher])  # Until this task has ended, it still watches the socket.

    def _set_session(self, session: Session) -> None:
        self.session = session


def _make_printable(text: str | None) -> str | None:
    """Make a client's text safe for a terminal and limit its length."""
    return text and "".join(each if each.isprintable() else "?" for each in text[:MAX_NAME_LENGTH])


def _parse_options(options: Mapping[str, Any]) -> SessionOptions:
    match options.get("config_file"), options.get("log_level", LEVELS[0]), options.get("client_process_id"):
        case (str() | None as file, str(level), int() | None as parent) if level in LEVELS:
            return SessionOptions(None if file is None else Path(file), level, client_process_id=parent)
    raise MalformedMessageError("invalid options")
