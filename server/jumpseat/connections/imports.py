"""Imports the daemon, and tunes the interpreter so that the daemon starts and runs fast."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

from jumpseat.connections.lean_lsprotocol import import_lean


def import_daemon(contract: str) -> None:
    """Import everything that a session needs. Call this before any other import of the daemon.

    Args:
        contract: the name of the module that defines the session's contract.
    """
    gc.disable()
    import_lean()
    import_module("jumpseat.connections.process")
    import_module(contract)
    # Let the collector skip all imported objects, because they are never garbage.
    gc.freeze()
    # A chat with a long history creates tens of thousands of objects that become garbage only when the chat
    # ends. So the first threshold is high: the youngest generation is collected less often than by default.
    # Collections of the second generation stop all threads, and take longer the rarer they are. So the second
    # threshold is low.
    gc.set_threshold(20_000, 2, 30)
    gc.enable()
    # While another thread computes, the event loop waits up to this many seconds before it can continue.
    sys.setswitchinterval(0.001)
