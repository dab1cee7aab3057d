"""The clients that are attached to this daemon: their sessions, from `go` to the exit code."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jumpseat.hub.control import MAX_DESCRIPTORS, GarbageError, close_all
from jumpseat.hub.control_connection import ControlConnection
from jumpseat.rpc.serving import Descriptors, SessionOptions, serve_connection
from jumpseat.rpc.session import Session
from jumpseat.system.environment import Environment
from jumpseat.system.paths import Places
from jumpseat.system.shared import Shared

logger = logging.getLogger(__name__)


class _Options(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    config_file: str | None = None
    log_level: str = Field("warning", pattern="^(debug|info|warning|error)$")
    client_process_id: int | None = Field(None, ge=0, lt=1 << 32)


class _Hello(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    version: str
    pid: int
    variables: dict[str, str] = Field(repr=False)
    directory: str
    places: list[str] = Field(min_length=3, max_length=3)
    options: _Options = Field(default_factory=_Options)


@dataclass(slots=True, eq=False)
class AttachedClient:
    """One client, from its hello on."""

    pid: int
    environment: Environment
    options: SessionOptions
    attached_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    session: Session | None = None

    @classmethod
    def of_hello(cls, message: dict[str, Any], shared: Shared) -> AttachedClient:
        """The client that says this.

        Raises:
            GarbageError: it is not a hello.
        """
        try:
            hello = _Hello.model_validate(message)
        except ValidationError:
            raise GarbageError("not a hello") from None  # Its text would repeat the variables.
        paths = [Path(each) for each in (hello.directory, *hello.places)]
        if not all(path.is_absolute() for path in paths):
            raise GarbageError("a relative path")
        directory, *places = paths
        environment = Environment(hello.variables, directory, Places(*places), shared)
        options = hello.options
        return cls(
            hello.pid,
            environment,
            SessionOptions(
                None if options.config_file is None else environment.absolute(options.config_file),
                options.log_level,
                client_process_id=options.client_process_id,
            ),
        )

    def status(self) -> dict[str, Any]:
        """The client's entry in the daemon's status."""
        info = self.session.client_info if self.session is not None else None
        requests = self.session.in_flight.values() if self.session is not None else ()
        entry = {
            "pid": self.pid,
            "name": info.name if info is not None else None,
            "version": info.version if info is not None else None,
            "attachedAt": self.attached_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "turns": sum(request.turn_id is not None for request in requests),
        }
        return {key: value for key, value in entry.items() if value is not None}

    async def serve(self, connection: ControlConnection) -> int:
        """Run the client's session on the streams that it has passed; returns the exit code.

        The session also ends with the attach process, which closes its end of the connection.
        """
        streams = connection.take_descriptors()
        if len(streams) != MAX_DESCRIPTORS:
            close_all(streams)
            raise GarbageError("not three descriptors")

        async def follow() -> None:
            await connection.wait_for_end()
            self.stop.set()

        following = asyncio.create_task(follow())
        try:
            return await serve_connection(
                Descriptors(*streams),
                self.environment,
                self.options,
                stop=self.stop,
                on_session=self._begin,
            )
        except OSError as error:
            logger.warning("a client's streams cannot be used: %s", error.strerror)
            return 1
        finally:
            following.cancel()

    def _begin(self, session: Session) -> None:
        self.session = session
