"""`jumpseat serve`: reads the options, then imports the daemon.

Users of an editor wait while the daemon starts. `import_daemon` shortens this wait if it is called before the
rest of the daemon is imported.
"""

from __future__ import annotations

from collections.abc import Sequence

from jumpseat.connections.flags import parse_flags
from jumpseat.connections.imports import import_daemon


def main(argv: Sequence[str], *, not_shared: str | None = None) -> int:
    """Run the daemon with these command line options, then end the process.

    Args:
        argv: the arguments after the command's name.
        not_shared: the reason why the shared daemon does not serve this client, for the log; None if the
            client has not asked for the shared daemon.
    """
    options = parse_flags(argv, "attach" if not_shared else "serve")
    import_daemon("jumpseat.rpc.contract")
    from jumpseat.connections.process import run
    from jumpseat.connections.serving import SessionOptions
    from jumpseat.rpc.contract import CONTRACT

    return run(
        CONTRACT,
        SessionOptions(options.config, options.log_level, options.log_file, options.client_process_id),
        not_shared=not_shared,
    )
