"""Runs the real command line with another daemon: `python -m tests.fakes.cli COMMAND_AS_JSON ARGUMENTS...`.

If `CONTROLLING_TTY` is set, stdin first becomes the controlling terminal, so that typing Ctrl-C sends a
signal, as in a shell.
"""

from __future__ import annotations

import json
import os
import sys

from jumpseat_cli.__main__ import main

if __name__ == "__main__":
    from jumpseat_client import client

    if "CONTROLLING_TTY" in os.environ:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    command = json.loads(sys.argv[1])
    client.default_command = lambda **_: list(command)
    sys.argv = ["jumpseat", *sys.argv[2:]]
    main()
