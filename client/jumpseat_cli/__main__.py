"""The `jumpseat` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from jumpseat.hub.programs import run_program
from jumpseat.system.interrupts import exit_on_interrupt
from jumpseat.system.paths import NoHomeError


def main() -> None:
    """Run the command in `sys.argv` and exit with its code."""
    exit_on_interrupt()
    if sys.argv[1:2] == ["acp"] and "--login" in sys.argv:
        sys.argv[1:] = _make_login_arguments(sys.argv[2:])
    run_program(sys.argv[1:])  # Exits if the command is `serve`, `attach` or `acp`.
    try:
        _run()
    except NoHomeError as error:
        sys.exit(f"jumpseat: {error}")


def _make_login_arguments(flags: Sequence[str]) -> list[str]:
    """Return the arguments of `jumpseat login` with the same configuration file as `jumpseat acp`.

    For a sign-in on a terminal, an ACP client runs the agent's command with `--login` appended.
    """
    from jumpseat.connections.flags import parse_flags

    config = parse_flags(flags, "acp").config
    return ["login", *([] if config is None else ["--config", str(config)])]


def _run() -> None:
    if sys.argv[1:] == ["--version"]:
        from jumpseat_cli.doctor.versions import print_versions

        print_versions()
        sys.exit(0)
    from jumpseat_cli.program import run

    code = run(sys.argv[1:])
    # All output is flushed by now, and an orderly exit of the interpreter would take another 15 ms.
    os._exit(code)


if __name__ == "__main__":
    main()
