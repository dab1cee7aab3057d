"""`jumpseat serve`: reads the options, then imports the daemon.

Editor users wait while the daemon starts, so its most expensive import is reduced first.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from jumpseat.rpc.flags import parse_flags
from jumpseat.rpc.lean_lsprotocol import import_lean


def main(argv: Sequence[str], *, not_shared: str | None = None) -> int:
    """Run the daemon with these command line options, then end the process.

    Args:
        argv: the arguments after the command's name.
        not_shared: why this is not the shared daemon that the client asked for; logged.
    """
    options = parse_flags(argv, "attach" if not_shared else "serve")
    import_daemon()
    from jumpseat.rpc.process import run
    from jumpseat.rpc.serving import SessionOptions

    return run(
        SessionOptions(options.config, options.log_level, options.log_file, options.client_process_id),
        not_shared=not_shared,
    )


def import_daemon() -> None:
    """Import everything that a session needs. Call this before any other import of the daemon."""
    gc.disable()
    import_lean()
    import jumpseat.rpc.process  # noqa: F401 - imports everything else

    # Imported objects are never garbage, so the collector skips them.
    gc.freeze()
    # A chat with a long history creates tens of thousands of objects that only become garbage at its end.
    # A collection of the second generation stops all threads, for longer the higher the second threshold is.
    gc.set_threshold(20_000, 2, 30)
    gc.enable()
    # Each time the event loop continues, it waits up to this long for a computing thread to yield.
    sys.setswitchinterval(0.001)
