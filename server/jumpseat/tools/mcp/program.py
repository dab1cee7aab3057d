"""Finds the program of a server, and starts it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from jumpseat.system.environment import Environment
from jumpseat.system.login_shell import read_login_path
from jumpseat.system.secrets import redact
from jumpseat.system.threads import run_blocking
from jumpseat.tools.mcp.definition import Program
from jumpseat.tools.server import ServerUnavailableError
from jumpseat.wire.line_child import LineChild

logger = logging.getLogger(__name__)

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The maximum size of a message from a server. Each message is one line."""

MAX_LOGGED_CHARACTERS = 2000
"""The length at which a line of the program's stderr is cut in the log."""


async def start_program(name: str, program: Program, environment: Environment) -> LineChild:
    """Start a program.

    Args:
        name: the name of the server, for messages.
        program: the program.
        environment: the client's environment, for finding the program.

    Raises:
        ServerUnavailableError: the program is not found, or cannot be started.
    """
    path, variables = await _find(name, program, environment)
    if not await run_blocking(program.directory.is_dir):
        raise ServerUnavailableError(
            f"The server {name} cannot be started: its working directory {program.directory} does not exist."
        )

    def log(line: str) -> None:
        logger.info("%s: %s", name, redact(line)[:MAX_LOGGED_CHARACTERS])

    child = LineChild(log, max_line_bytes=MAX_LINE_BYTES)
    try:
        await child.start(
            [path, *program.command[1:]],
            env=variables,
            directory=program.directory,
            umask=environment.umask,
        )
    except OSError as error:
        why = error.strerror or str(error)
        raise ServerUnavailableError(f"The server {name} cannot be started: {why}.") from None
    return child


async def _find(name: str, program: Program, environment: Environment) -> tuple[str, Mapping[str, str]]:
    """Return the path of the program, and its environment variables.

    If the program is found only on the `PATH` of the login shell, that `PATH` replaces the one in the
    variables, because a program such as `npx` runs other programs from it.
    """
    wanted = program.command[0]
    if Path(wanted).name != wanted:
        return str(program.base / environment.expand_path(wanted)), program.variables
    path = program.variables.get("PATH", "")
    found = await run_blocking(environment.which, wanted, path)
    if found is not None:
        return found, program.variables
    login_path = await read_login_path(environment)
    if login_path:
        found = await run_blocking(environment.which, wanted, login_path)
    if found is not None and login_path:
        return found, {**program.variables, "PATH": login_path}
    shell, login_path = environment.get("SHELL") or "the login shell", login_path or "unknown"
    raise ServerUnavailableError(
        f"The program {wanted} of the server {name} is neither on the client's PATH ({path or 'empty'}) nor "
        f"on the PATH of {shell} ({login_path}). Install it, or write its path in mcp.{name}.command."
    )
