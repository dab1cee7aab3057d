"""The daemon's process: one connection on stdio, from the first byte to the exit code.

It claims stdin and stdout for frames, runs until the client leaves, and then ends quickly and for good.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path

from jumpseat.rpc.connection import ClientConnection
from jumpseat.rpc.parent import watch_process
from jumpseat.system.secrets import SecretFilter
from jumpseat.wire import Transport, claim_stdio, open_fds

logger = logging.getLogger(__name__)

CANCEL_SECONDS = 0.3
"""How long turns in flight may take to end once the client is gone."""

FLUSH_SECONDS = 0.3
"""How long the last answers may take to be read."""

CLOSE_SECONDS = 0.5
"""How long providers may take to give back what they hold."""

LOG_SECONDS = 0.3
"""How long the last lines of the log may take to be written."""

LOG_QUEUE_RECORDS = 1000
"""How many lines may wait for the log's writer before further ones are dropped."""

QUIET_LIBRARIES = ("httpx2", "httpcore2", "asyncio", "pygls", "filelock")
"""Loggers that write URLs, headers or bodies; nothing below a warning of theirs is kept."""


def run(
    *, config_file: Path | None, log_level: str, log_file: Path | None, client_process_id: int | None
) -> int:
    """Serve one client on stdin and stdout, then end the process with the connection's exit code.

    Args:
        config_file: the configuration file, if one was named.
        log_level: the least level that is logged, a name of `logging`'s in any case.
        log_file: where the log goes; None for stderr.
        client_process_id: a process to outlive by no more than moments.
    """
    log = _start_logging(log_level, log_file)
    _raise_the_mmap_threshold()
    descriptors = claim_stdio()
    with asyncio.Runner() as runner:
        code = runner.run(_serve(descriptors, config_file, client_process_id))
        _finish_logging(log)
        # A thread may still be blocked on a read, or be loading a model; nothing of theirs is needed.
        os._exit(code)


class _LogQueue(QueueHandler):
    """Hands records to the thread that writes them; drops them if its output is not read.

    stderr is a pipe to the client. One that does not read it must lose log lines, not the daemon.
    """

    def enqueue(self, record: logging.LogRecord) -> None:
        """Queue a record, if there is room."""
        with contextlib.suppress(queue.Full):
            self.queue.put_nowait(record)


def _start_logging(level: str, file: Path | None) -> QueueListener:
    """Log to the file or to stderr, from a thread of its own."""
    writer: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        try:
            writer = logging.FileHandler(file, encoding="utf-8")
        except OSError as error:
            sys.exit(f"jumpseat serve: the log file {file} cannot be opened: {error.strerror}")
    records: queue.Queue[logging.LogRecord] = queue.Queue(LOG_QUEUE_RECORDS)
    handler = _LogQueue(records)
    handler.addFilter(SecretFilter())
    logging.basicConfig(
        level=level.upper(),
        handlers=[handler],
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    listener = QueueListener(records, writer)
    listener.start()
    return listener


def _finish_logging(listener: QueueListener) -> None:
    """Let the last lines be written, with a timeout: the writer may block on a pipe that is not read."""
    last = threading.Thread(target=listener.stop, daemon=True)
    last.start()
    last.join(LOG_SECONDS)


def _raise_the_mmap_threshold() -> None:
    # asyncio receives into a 256 KiB buffer, above glibc's initial threshold for mmap, so that every read
    # would map and unmap memory; and the texts of a long chat would be given back and fetched again in every
    # turn. Freeing one larger block raises the threshold for good, and what is kept to twice of it: a quarter
    # to a half less CPU for each delta, a tenth for a chat with 1 MB of history, measured on Linux.
    block = bytearray(8 << 20)
    del block


async def _serve(descriptors: tuple[int, int], config_file: Path | None, parent: int | None) -> int:
    gone = asyncio.Event()
    watching: list[asyncio.Task[None] | None] = []

    def watch_parent(process_id: int) -> None:
        watching.append(watch_process(process_id, gone.set))

    received: list[bytes] = []
    connection: ClientConnection | None = None

    def on_data(data: bytes) -> None:
        if connection is None:
            received.append(data)
        elif not gone.is_set():
            connection.receive(data)

    transport = await open_fds(*descriptors, on_data=on_data, on_eof=gone.set)
    connection = ClientConnection(
        transport, config_file=config_file, stop=gone.set, watch_parent=watch_parent
    )
    for data in received:
        connection.receive(data)
    if parent is not None:
        watch_parent(parent)
    _stop_on_signals(gone)
    await gone.wait()
    await _finish(connection, transport)
    return 0 if connection.session.shutting_down else 1


def _stop_on_signals(gone: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, gone.set)
        except NotImplementedError:  # Windows' loop has no signal handlers; its signals come to the process.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(gone.set))


async def _finish(connection: ClientConnection, transport: Transport) -> None:
    """End turns, so that no provider goes on answering, and let the client read what it still wants."""
    await connection.session.cancel_others(None, CANCEL_SECONDS)
    await transport.flush(FLUSH_SECONDS)
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await connection.session.aclose()
    except TimeoutError:
        logger.warning("a provider did not close in time")
    except Exception:
        logger.exception("a provider failed to close")
    transport.close()
