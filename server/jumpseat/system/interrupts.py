"""Handles Ctrl-C while the command line imports its modules, when an exception would print a traceback."""

from __future__ import annotations

import os
import signal


def exit_on_interrupt() -> None:
    """Make Ctrl-C exit with status 130 until `raise_on_interrupt` is called.

    Do nothing if SIGINT is ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)


def raise_on_interrupt() -> None:
    """Restore `KeyboardInterrupt` on Ctrl-C. Call this when the caller is ready to catch the exception."""
    if signal.getsignal(signal.SIGINT) is _exit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _exit(*_: object) -> None:
    # Do not raise: code that imports a module may swallow or replace the exception.
    os._exit(130)
