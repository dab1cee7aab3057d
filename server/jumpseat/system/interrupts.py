"""Ctrl-C while the command line is being imported, where an exception would end in a traceback."""

from __future__ import annotations

import os
import signal


def exit_on_interrupt() -> None:
    """Exit with 130 on Ctrl-C until `raise_on_interrupt`, unless SIGINT is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)


def raise_on_interrupt() -> None:
    """Raise `KeyboardInterrupt` again; call it where that is caught."""
    if signal.getsignal(signal.SIGINT) is _exit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _exit(*_: object) -> None:
    # Not an exception: code that imports a module may swallow or replace it.
    os._exit(130)
