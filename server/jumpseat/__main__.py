"""Runs `python -m jumpseat`: `serve`, `attach` or `acp`, or else the installed command line."""

import sys

from jumpseat.system.interrupts import exit_on_interrupt

exit_on_interrupt()

from jumpseat.hub.programs import run_program  # noqa: E402 - Ctrl-C during this import must not print a traceback

if __name__ == "__main__":
    run_program(sys.argv[1:])
    # Find the command line through its entry point: this package must not import packages that depend on it.
    from importlib.metadata import distribution

    (command,) = distribution("jumpseat").entry_points.select(group="console_scripts", name="jumpseat")
    command.load()()
