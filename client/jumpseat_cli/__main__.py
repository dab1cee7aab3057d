"""The `jumpseat` command."""

from __future__ import annotations

import os
import sys

from jumpseat.system.interrupts import exit_on_interrupt
from jumpseat.system.paths import NoHomeError


def main() -> None:
    """Run the command in `sys.argv` and exit with its code."""
    exit_on_interrupt()
    try:
        _run()
    except NoHomeError as error:
        sys.exit(f"jumpseat: {error}")


def _run() -> None:
    # Editors start the daemon with this command, and importing click would delay the start.
    match sys.argv[1:]:
        case ["attach", *arguments]:
            from jumpseat.hub.attach import main as attach

            sys.exit(attach(arguments))
        case ["serve", *arguments]:
            from jumpseat.rpc.serve import main as serve

            sys.exit(serve(arguments))
        case ["--version"]:
            from jumpseat_cli.doctor.versions import print_versions

            print_versions()
            sys.exit(0)
    from jumpseat_cli.program import run

    code = run(sys.argv[1:])
    # All output is flushed, and the interpreter would spend 15 ms on its own end.
    os._exit(code)


if __name__ == "__main__":
    main()
