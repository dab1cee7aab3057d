"""The process of `jumpseat serve`: what is done once in a process, around one session on stdio."""

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

from jumpseat.rpc.serving import Descriptors, SessionOptions, serve_connection
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.system.secrets import SecretFilter
from jumpseat.wire import claim_stdio

LOG_SECONDS = 0.3
"""How long the last lines of the log may take to be written."""

LOG_QUEUE_RECORDS = 1000
"""How many lines may wait for the log's writer before further ones are dropped."""

QUIET_LIBRARIES = ("httpx2", "httpcore2", "asyncio", "pygls", "filelock")
"""Loggers that write URLs, headers or bodies; nothing below a warning of theirs is kept."""


def run(options: SessionOptions) -> int:
    """Serve one client on stdin and stdout, then end the process with the session's exit code."""
    log = _start_logging(options.log_level, options.log_file)
    _raise_the_mmap_threshold()
    descriptors = Descriptors(*claim_stdio(), None)
    with asyncio.Runner() as runner:
        code = runner.run(_serve(descriptors, environment_of_process(), options))
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


async def _serve(descriptors: Descriptors, environment: Environment, options: SessionOptions) -> int:
    stop = asyncio.Event()
    _stop_on_signals(stop)
    return await serve_connection(descriptors, environment, options, stop=stop)


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows' loop has no signal handlers; its signals come to the process.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
