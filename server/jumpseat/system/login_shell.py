"""Finds the `PATH` of the user's login shell. Graphical editors are often started with a shorter `PATH`."""

from __future__ import annotations

import logging
from pathlib import Path

from jumpseat.system.commands import CommandError, command_environment, existing_or_root, run
from jumpseat.system.environment import Environment

logger = logging.getLogger(__name__)

SHELL_SECONDS = 10.0
"""The time limit. Start-up files that run a version manager, such as nvm, take seconds."""

_MARK = "jumpseat-path:"


async def read_login_path(environment: Environment) -> str | None:
    """Start the user's login shell and return its `PATH`; None if the `PATH` cannot be found.

    The shell is also interactive, because version managers change the `PATH` in files that only interactive
    shells read. The output of the shell is never logged.
    """
    shell = environment.get("SHELL")
    if not Path(shell).is_absolute():
        return None
    home = existing_or_root(environment.directory / environment.expand_path("~"))
    try:
        output = await run(
            [shell, "-l", "-i", "-c", f'echo "{_MARK}$PATH"'],
            env=command_environment(environment),
            directory=home,
            umask=environment.umask,
            seconds=SHELL_SECONDS,
        )
    except CommandError as error:
        logger.info("the PATH of the login shell %s is not known: %s", shell, error)
        return None
    # Start-up files may print lines of their own.
    found = [line for line in output.splitlines() if line.startswith(_MARK)]
    return found[-1].removeprefix(_MARK) if found else None
