"""Serves a client, from its first byte to the exit code. A process may serve several clients concurrently."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jumpseat.connections.connection import ClientConnection
from jumpseat.connections.contract import Contract
from jumpseat.connections.parent import watch_process
from jumpseat.connections.session import Session
from jumpseat.system import log_files
from jumpseat.system.environment import Environment
from jumpseat.system.left_processes import end_left_processes
from jumpseat.system.log_sink import LogSink
from jumpseat.system.logs import Log, log_to, open_log
from jumpseat.system.threads import one_computation_at_a_time
from jumpseat.wire import Transport, open_fds

logger = logging.getLogger(__name__)

CANCEL_SECONDS = 0.3
"""The time limit for turns in flight to end after the client has disconnected."""

FLUSH_SECONDS = 0.3
"""The time limit for the client to read the last responses."""

CLOSE_SECONDS = 0.5
"""The time limit for closing the session with its providers, and again for closing the transport."""

KEEP_SECONDS = 2.0
"""The time limit for writing the ends of kept turns, for example to a slow disk."""


class Descriptors(NamedTuple):
    """A client's standard streams, as descriptors of this process."""

    stdin: int
    stdout: int
    stderr: int | None
    """The destination of the session's log lines; None if the client has no stderr."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The options of `serve`, `attach` and `acp` that concern the session."""

    config_file: Path | None = None
    """The configuration file named on the command line."""

    log_level: str = "warning"
    """The name of the lowest level that is logged, as in `logging`; upper or lower case."""

    log_file: Path | None = None
    """The log file; None for stderr."""

    client_process_id: int | None = None
    """The id of a process; the session ends when that process does."""


class LogFileError(Exception):
    """An error while opening the log file. Its message is a sentence for the user."""


def open_session_log(
    options: SessionOptions, environment: Environment, stderr: int | None, *, is_fallback: bool = False
) -> Log:
    """Open the log of a session.

    Args:
        options: the command line options.
        environment: relative paths are resolved against its directory.
        stderr: the destination if there is no log file; the log owns it from now on. If there is a log file,
            this function closes `stderr`.
        is_fallback: see `open_log`.

    Raises:
        LogFileError: the log file cannot be opened; the caller still owns `stderr`.
    """
    sink = None
    if options.log_file is not None:
        path = environment.absolute_path(options.log_file)
        try:
            sink = LogSink(log_files.open_log(path))
        except OSError as error:
            raise LogFileError(f"the log file {path} cannot be opened: {error.strerror}") from error
        if stderr is not None:
            os.close(stderr)
    elif stderr is not None:
        sink = LogSink(stderr)
    return open_log(options.log_level, sink, is_fallback=is_fallback)


async def serve_connection(
    contract: Contract,
    descriptors: Descriptors,
    environment: Environment,
    options: SessionOptions,
    *,
    stop: asyncio.Event,
    on_session: Callable[[Session], None] = lambda session: None,
) -> int:
    """Serve one client until it disconnects. Return the exit code: 0 after an orderly end, else 1.

    Args:
        contract: the protocol that the client speaks.
        descriptors: owned by the session from now on; closed when this returns or raises.
        environment: the client's environment.
        options: the client's options; relative paths are resolved against `environment.directory`.
        stop: ends the session when set. The session sets it when it ends for any other reason.
        on_session: called once, before the first message is read.

    Raises:
        OSError: a descriptor is not open.
    """
    try:
        log = open_session_log(options, environment, descriptors.stderr)
    except LogFileError as error:
        _refuse(descriptors, f"jumpseat: {error}\n")
        return 1
    try:
        with log_to(log), one_computation_at_a_time():
            return await _serve(contract, descriptors, environment, options, stop, on_session)
    finally:
        await log.aclose()


def _refuse(descriptors: Descriptors, message: str) -> None:
    """Write the message to stderr and close all descriptors."""
    if descriptors.stderr is not None:
        sink = LogSink(descriptors.stderr)
        with suppress(OSError):
            sink.write(message.encode("utf-8", "backslashreplace"))
        sink.close()
    os.close(descriptors.stdin)
    os.close(descriptors.stdout)


async def _serve(
    contract: Contract,
    descriptors: Descriptors,
    environment: Environment,
    options: SessionOptions,
    stop: asyncio.Event,
    on_session: Callable[[Session], None],
) -> int:
    def on_data(data: bytes) -> None:
        if not stop.is_set():
            connection.receive(data)

    with ExitStack() as watches:

        def watch_parent(process_id: int) -> None:
            watches.callback(watch_process(process_id, stop.set))

        transport = open_fds(descriptors.stdin, descriptors.stdout, on_data=on_data, on_eof=stop.set)
        config_file = options.config_file
        connection = ClientConnection(
            transport,
            contract,
            environment=environment,
            config_file=None if config_file is None else environment.absolute_path(config_file),
            stop=stop.set,
            watch_parent=watch_parent,
        )
        try:
            on_session(connection.session)
            connection.session.run_in_background(
                "ending the processes of a killed daemon", lambda: end_left_processes(environment.places)
            )
            if options.client_process_id is not None:
                watch_parent(options.client_process_id)
            await stop.wait()
        finally:
            # This must run even if the task is cancelled.
            stop.set()
            # Close the connection before `_finish` cancels the turns: a message that is still being read
            # could start another turn.
            await connection.close()
            await _finish(connection.session, transport)
    return 0 if connection.session.shutting_down or contract.ends_with_input else 1


async def _finish(session: Session, transport: Transport) -> None:
    """Cancel the turns, send the last responses, and close the session and the transport."""
    await session.cancel_others(None, CANCEL_SECONDS)
    await transport.flush(FLUSH_SECONDS)
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await session.aclose()
    except TimeoutError:
        logger.warning("a turn or a provider did not end in time")
    except Exception:
        logger.exception("a provider failed to close")
    await session.wait_until_kept(KEEP_SECONDS)
    await transport.aclose(CLOSE_SECONDS)
