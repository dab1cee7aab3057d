"""One client's session, from its first byte to its exit code. A process may run any number at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jumpseat.rpc.connection import ClientConnection
from jumpseat.rpc.parent import watch_process
from jumpseat.rpc.session import Session
from jumpseat.system.environment import Environment
from jumpseat.wire import Transport, open_fds

logger = logging.getLogger(__name__)

CANCEL_SECONDS = 0.3
"""How long turns in flight may take to end after the client has left."""

FLUSH_SECONDS = 0.3
"""How long the client may take to read the last answers."""

CLOSE_SECONDS = 0.5
"""How long providers may take to close what they hold."""


class Descriptors(NamedTuple):
    """A client's standard streams, as descriptors of this process."""

    stdin: int
    stdout: int
    stderr: int | None
    """Takes the session's log lines; None for a client without one."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What the command line of `serve` and `attach` says about a session."""

    config_file: Path | None = None
    """The configuration file, if one was named."""

    log_level: str = "warning"
    """The lowest level that is logged: a name of `logging`'s, in any case."""

    log_file: Path | None = None
    """Where the log goes; None for stderr."""

    client_process_id: int | None = None
    """The session ends when this process is gone."""


async def serve_connection(
    descriptors: Descriptors,
    environment: Environment,
    options: SessionOptions,
    *,
    stop: asyncio.Event,
    on_session: Callable[[Session], None] = lambda session: None,
) -> int:
    """Serve one client until it leaves; returns the exit code: 0 after `shutdown`, else 1.

    Args:
        descriptors: owned by the session from now on; closed when this returns or raises.
        environment: the client's.
        options: the client's command line; relative paths begin at `environment.directory`.
        stop: ends the session when it is set. The session sets it when it ends for any other reason.
        on_session: called once, before the first message is read.

    Raises:
        OSError: a descriptor is not open.
    """
    received: list[bytes] = []
    connection: ClientConnection | None = None

    def on_data(data: bytes) -> None:
        if connection is None:
            received.append(data)
        elif not stop.is_set():
            connection.receive(data)

    with ExitStack() as held:

        def watch_parent(process_id: int) -> None:
            held.callback(watch_process(process_id, stop.set))

        transport = await open_fds(descriptors.stdin, descriptors.stdout, on_data=on_data, on_eof=stop.set)
        held.callback(transport.close)
        config_file = options.config_file
        connection = ClientConnection(
            transport,
            environment=environment,
            config_file=None if config_file is None else environment.absolute(config_file),
            stop=stop.set,
            watch_parent=watch_parent,
        )
        on_session(connection.session)
        for data in received:
            connection.receive(data)
        if options.client_process_id is not None:
            watch_parent(options.client_process_id)
        await stop.wait()
        await _finish(connection.session, transport)
        return 0 if connection.session.shutting_down else 1


async def _finish(session: Session, transport: Transport) -> None:
    """End turns, so that no provider continues to answer, and let the client read the last answers."""
    await session.cancel_others(None, CANCEL_SECONDS)
    await transport.flush(FLUSH_SECONDS)
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await session.aclose()
    except TimeoutError:
        logger.warning("a provider did not close in time")
    except Exception:
        logger.exception("a provider failed to close")
