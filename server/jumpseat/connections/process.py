"""A process that serves one client on stdio: its log, its signals and its exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable

from jumpseat.connections.contract import Contract
from jumpseat.connections.serving import (
    Descriptors,
    LogFileError,
    SessionOptions,
    open_session_log,
    serve_connection,
)
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.wire import claim_stdio

logger = logging.getLogger(__name__)


def run(contract: Contract, options: SessionOptions, *, not_shared: str | None = None) -> int:
    """Serve one client on stdin and stdout, then end the process with the session's exit code.

    Args:
        contract: the protocol that the client speaks.
        options: the command line options.
        not_shared: for the log, why the client does not use the shared daemon that it asked for; None if it
            did not ask for one.
    """
    environment = environment_of_process()
    try:
        descriptors = Descriptors(*claim_stdio(), _duplicate_stderr())
    except OSError:
        sys.exit("jumpseat: stdin and stdout must be open, because messages go through both")
    try:
        log = open_session_log(options, environment, _duplicate_stderr(), is_fallback=True)
    except LogFileError as error:
        sys.exit(f"jumpseat: {error}")
    if not_shared is not None:
        logger.warning("this client does not use the shared daemon: %s", not_shared)
    raise_mmap_threshold()
    with asyncio.Runner() as runner:
        code = runner.run(_serve(contract, descriptors, environment, options))
        log.close()
        # Exit immediately: Python would wait for threads that are blocked, for example in a read.
        os._exit(code)


def _duplicate_stderr() -> int | None:
    # The duplicate is never 0 or 1: `claim_stdio` has opened both.
    try:
        return os.dup(2)
    except OSError:  # stderr is closed.
        return None


def raise_mmap_threshold() -> None:
    """Make glibc's allocator reuse the memory of each turn instead of returning it to the system."""
    # asyncio reads into a 256 KiB buffer, which exceeds glibc's initial threshold for mmap. So glibc would
    # map and unmap memory for every read, and in every turn for the texts of a long chat. Freeing one larger
    # block raises the threshold (mallopt(3), M_MMAP_THRESHOLD). Measured on Linux, this saves a quarter to a
    # half of the CPU time of each delta, and a tenth for a chat with 1 MB of history.
    block = bytes(8 << 20)  # Unlike a bytearray, it is never written to, so it does not use physical memory.
    del block


async def _serve(
    contract: Contract, descriptors: Descriptors, environment: Environment, options: SessionOptions
) -> int:
    stop = asyncio.Event()
    call_on_signals(stop.set)
    return await serve_connection(contract, descriptors, environment, options, stop=stop)


def call_on_signals(end: Callable[[], None]) -> None:
    """Call `end` on the event loop when the process receives SIGINT, SIGTERM or SIGHUP."""
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, end)
        except NotImplementedError:  # The loop on Windows does not support signal handlers.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(end))
