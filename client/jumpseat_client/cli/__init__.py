"""The `jumpseat` command.

Above it are the shell and every editor that starts the daemon; that start must be quick, so `serve` goes
straight to the daemon and nothing of the command line library is imported for it.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its code."""
    if sys.argv[1:2] == ["serve"]:
        from jumpseat.rpc.serve import main as serve

        sys.exit(serve(sys.argv[2:]))
    from jumpseat_client.cli.commands import run

    sys.exit(run(sys.argv[1:]))
