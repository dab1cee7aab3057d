"""`jumpseat serve`: the command's options, and what has to be settled before the daemon is imported.

An editor's user waits for the daemon's start, so the daemon itself (`process`) is imported only once the
options are read, and with its most expensive import made lean.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from jumpseat.rpc.flags import parse_flags
from jumpseat.rpc.lean_dataclasses import compile_lazily
from jumpseat.rpc.lean_lsprotocol import import_lean
from jumpseat.rpc.lean_pydantic import look_for_no_plugins


def main(argv: Sequence[str], *, not_shared: str | None = None) -> int:
    """Run the daemon with these command line options; does not return once it has begun to serve.

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
    """Import what a session needs, at the least cost; once in a process, before it is imported otherwise."""
    gc.disable()
    look_for_no_plugins()
    import_lean()
    compile_lazily()
    import jumpseat.rpc.process  # noqa: F401 - with all that it needs

    # What was imported stays; the collector need not look at it again.
    gc.freeze()
    # A chat with a long history makes tens of thousands of objects, none of them garbage before its end.
    # A collection of the second generation stops all threads and grows with the second threshold.
    gc.set_threshold(20_000, 2, 30)
    gc.enable()
    # How long the event loop waits for a thread that computes, each time it continues.
    sys.setswitchinterval(0.001)
