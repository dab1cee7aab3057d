"""Imports the daemon in a way that lets it start and run fast."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

from jumpseat.connections.lean_lsprotocol import import_lean


def import_daemon(contract: str) -> None:
    """Import everything that a session needs. Call this before any other import of the daemon.

    Args:
        contract: the module that defines the contract of the session.
    """
    gc.disable()
    import_lean()
    import_module("jumpseat.connections.process")
    import_module(contract)
    # Imported objects are never garbage, so the collector skips them.
    gc.freeze()
    # A chat with a long history creates tens of thousands of objects that only become garbage at its end.
    # A collection of the second generation stops all threads. The higher the second threshold is, the longer
    # each of these collections takes.
    gc.set_threshold(20_000, 2, 30)
    gc.enable()
    # Each time the event loop continues, it waits up to this long for a computing thread to yield.
    sys.setswitchinterval(0.001)
