"""The `jumpseat` command.

Editors start the daemon through it, and that start must be quick: `serve` runs the daemon without importing
the command-line library.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command in `sys.argv` and exit with its code."""
    if sys.argv[1:2] == ["serve"]:
        from jumpseat.rpc.serve import main as serve

        sys.exit(serve(sys.argv[2:]))
    from jumpseat_client.cli.commands import run

    sys.exit(run(sys.argv[1:]))
