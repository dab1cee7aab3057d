"""Imports the daemon, and tunes the interpreter so that it starts and runs fast."""

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
    # A chat with a long history creates tens of thousands of objects that become garbage only at its end. So
    # collect the youngest generation less often than by default. Collections of the second generation stop
    # all threads, and take longer the rarer they are, so the second threshold is low.
    gc.set_threshold(20_000, 2, 30)
    gc.enable()
    # While another thread computes, the event loop waits up to this long before it can continue.
    sys.setswitchinterval(0.001)
