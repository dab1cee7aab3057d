"""`jumpseat serve`: reads the options, then imports the daemon.

An editor's user waits for the daemon's start, so its most expensive import is reduced first.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from jumpseat.rpc.flags import parse_flags
from jumpseat.rpc.lean_lsprotocol import import_lean


def main(argv: Sequence[str], *, not_shared: str | None = None) -> int:
    """Run the daemon with these command line options; ends the process after the session.

    Args:
        argv: the arguments after the command's name.
        not_shared: why this is not the shared daemon that the client asked for, for the log.
    """
    options = parse_flags(argv, "attach" if not_shared else "serve")
    import_the_daemon()
    from jumpseat.rpc.process import run
    from jumpseat.rpc.serving import SessionOptions

    return run(
        SessionOptions(options.config, options.log_level, options.log_file, options.client_process_id),
        not_shared=not_shared,
    )


def import_the_daemon() -> None:
    """Import all that a session needs, fast. Call it before any other import of the daemon."""
    gc.disable()
    import_lean()
    import jumpseat.rpc.process  # noqa: F401 - with all that it needs

    # Imported objects are never garbage, so the collector skips them.
    gc.freeze()
    # A chat with a long history creates tens of thousands of objects, none of them garbage before its end.
    # A collection of the second generation stops all threads and grows with the second threshold.
    gc.set_threshold(20_000, 2, 30)
    gc.enable()
    # How long the event loop waits for a thread that computes, each time it continues.
    sys.setswitchinterval(0.001)
