"""The `jumpseat` command; also `python -m jumpseat`."""

from jumpseat.system.interrupts import exit_on_interrupt

exit_on_interrupt()

from jumpseat_cli.__main__ import main  # noqa: E402 - Ctrl-C during this import must not print a traceback

if __name__ == "__main__":
    main()
