"""Runs a command's coroutine and returns its exit code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from jumpseat_cli.terminal.failures import (
    BY_SIGTERM,
    FAILED,
    INTERRUPTED,
    TERMINATED,
    cancelled_error,
    print_client_error,
    print_json,
)
from jumpseat_client.errors import ClientError

T = TypeVar("T")


def run_work(work: Coroutine[Any, Any, int], *, as_json: bool) -> int:
    """Run a command's coroutine, and convert its failures to messages and exit codes."""
    try:
        return asyncio.run(run_until_terminated(work))
    except (KeyboardInterrupt, asyncio.CancelledError) as error:
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else TERMINATED
        if as_json:
            print_json({"error": cancelled_error(code)})
        return code
    except ClientError as error:
        print_client_error(error, as_json=as_json)
        return FAILED


async def run_until_terminated(work: Coroutine[Any, Any, T]) -> T:
    """Run the work. SIGTERM cancels the work, which can then restore the terminal."""
    task = asyncio.current_task()
    if task is not None:
        with suppress(NotImplementedError):  # The event loop on Windows does not support signal handlers.
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel, BY_SIGTERM)
    return await work
