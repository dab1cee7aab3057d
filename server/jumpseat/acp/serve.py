"""Serves a client of the Agent Client Protocol in this process."""

from __future__ import annotations

from collections.abc import Sequence

from jumpseat.connections.flags import parse_flags
from jumpseat.connections.imports import import_daemon


def main(argv: Sequence[str], *, not_shared: str | None = None) -> int:
    """Run the agent with these command line options, then end the process.

    Args:
        argv: the arguments after the command's name.
        not_shared: why this process, and not the shared daemon, serves the client; for the log.
    """
    options = parse_flags(argv, "acp")
    import_daemon("jumpseat.acp.contract")
    from jumpseat.acp.contract import CONTRACT
    from jumpseat.connections.process import run
    from jumpseat.connections.serving import SessionOptions

    return run(
        CONTRACT,
        SessionOptions(options.config, options.log_level, options.log_file, options.client_process_id),
        not_shared=not_shared,
    )
