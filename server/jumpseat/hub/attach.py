"""`jumpseat attach` and `jumpseat acp`: serve a client through the user's daemon, or in this process.

Editors wait while these commands start, so the commands import few modules, as
`tests/unit/hub/test_attach_cost.py` checks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumpseat.hub.failures import CannotShareError


def main(argv: Sequence[str], command: str = "attach") -> int:
    """Serve this client through the shared daemon or in this process. Return the session's exit code.

    Args:
        argv: the arguments after the command's name.
        command: `attach` or `acp`, which determines the protocol of the client.
    """
    options, log_file = _read_flags(argv, command)
    try:
        if sys.platform != "win32":
            from jumpseat.hub.passing import pass_streams

            return pass_streams(options, log_file, "acp" if command == "acp" else "rpc")
        raise CannotShareError("on Windows, a client's streams cannot be passed to another process")
    except CannotShareError as error:
        reason = str(error)
    if command == "acp":
        from jumpseat.acp.serve import main as serve
    else:
        from jumpseat.rpc.serve import main as serve

    return serve(argv, not_shared=reason)


def _read_flags(argv: Sequence[str], command: str) -> tuple[dict[str, Any], Path | None]:
    """Return the session's options in the form that the daemon expects, and the log file."""
    if not argv:
        return {}, None
    from jumpseat.connections.flags import parse_flags

    flags = parse_flags(argv, command)
    options = {
        "config_file": None if flags.config is None else str(flags.config),
        "log_level": flags.log_level,
        "client_process_id": flags.client_process_id,
    }
    return options, flags.log_file
