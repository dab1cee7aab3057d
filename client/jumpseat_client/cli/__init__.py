"""The `jumpseat` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command in `sys.argv` and exit with its code."""
    # Editors start the daemon with this command, and importing click would delay the start.
    if sys.argv[1:2] == ["serve"]:
        from jumpseat.rpc.serve import main as serve

        sys.exit(serve(sys.argv[2:]))
    from jumpseat_client.cli.commands import run

    sys.exit(run(sys.argv[1:]))
