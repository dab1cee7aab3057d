"""Runs programs that supply a value, such as the commands in the configuration, and returns their output.

The programs run without a shell, without standard input and without a window.
"""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from jumpseat.system.child import Child
from jumpseat.system.environment import Environment
from jumpseat.system.threads import run_blocking

COMMAND_SECONDS = 10.0
"""The time limit. A program has enough time to request a token from a service, but not to ask the user."""

MAX_OUTPUT_BYTES = 64 * 1024

_GITHUB_TOKENS = frozenset({"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"})


class CommandError(Exception):
    """The command failed. The message gives the reason, without any output of the command."""


async def run_command_line(line: str, directory: Path, environment: Environment) -> str:
    """Run a command and return its stdout without surrounding white space.

    Args:
        line: the program and its arguments, split as in a POSIX shell, but without expansions.
        directory: the working directory, which is also the base for a relative path of the program.
        environment: the client's environment.

    Raises:
        CommandError: the command cannot be run, fails, takes too long, or writes too much.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise CommandError(f"the command line cannot be split: {str(error).lower()}") from None
    if not words:
        raise CommandError("there is no command")

    def locate() -> tuple[str, Path]:
        # Never search the client's working directory, because a workspace may contain untrusted programs.
        return _find_program(words[0], directory, environment), existing_or_root(directory)

    try:
        program, working_directory = await run_blocking(locate, within=COMMAND_SECONDS)
    except TimeoutError:
        raise CommandError(f"finding the program took longer than {COMMAND_SECONDS:g} s") from None
    return await run(
        [program, *words[1:]],
        env=command_environment(environment),
        directory=working_directory,
        umask=environment.umask,
        seconds=COMMAND_SECONDS,
    )


def existing_or_root(directory: Path) -> Path:
    """Return the directory, or the root directory if it does not exist, as a working directory. Blocks."""
    return directory if directory.is_dir() else Path(directory.anchor)


async def run(
    argv: Sequence[str], *, env: Mapping[str, str], directory: Path, umask: int, seconds: float
) -> str:
    """Run a program and return its stdout without surrounding white space.

    Background processes that the program leaves running, such as an agent, are not ended.

    Args:
        argv: the program and its arguments.
        env: all of the program's environment variables.
        directory: the working directory.
        umask: the program's umask; -1 for the umask of this process.
        seconds: the time limit.

    Raises:
        CommandError: the program cannot be run, fails, takes too long, or writes too much.
    """
    command = _Command(seconds)
    # Discard stderr: it may contain the secret, which must not reach a log.
    streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        await command.start(argv, env=env, directory=directory, umask=umask, **streams)
    except OSError as error:
        raise CommandError(f"the command cannot be run ({type(error).__name__})") from None
    try:
        async with asyncio.timeout(seconds):
            await command.wait_until_ended()
    except TimeoutError:
        raise CommandError(f"the command did not end within {seconds:g} s") from None
    finally:
        await command.stop(0)
    if len(command.output) > MAX_OUTPUT_BYTES:
        raise CommandError(f"the command wrote more than {MAX_OUTPUT_BYTES // 1024} KiB")
    if command.return_code != 0:
        raise CommandError(f"the command ended with status {command.return_code}")
    return command.output.decode("utf-8", "replace").strip()


class _Command(Child):
    def __init__(self, seconds: float) -> None:
        super().__init__(closed_seconds=seconds, ends_its_group=False)
        self.output = bytearray()

    def on_output(self, data: bytes) -> None:
        self.output += data
        if len(self.output) > MAX_OUTPUT_BYTES:
            self.kill()


def _find_program(name: str, directory: Path, environment: Environment) -> str:
    if Path(name).name != name:
        return str(directory / name)
    program = environment.which(name)
    if program is None:
        raise CommandError("the program is not on the PATH")
    return program


def command_environment(environment: Environment) -> dict[str, str]:
    """Return the client's variables without providers' keys. A command may need any other variable."""
    return {
        name: value
        for name, value in environment.variables.items()
        if not (
            name in environment.withheld
            or name.upper() in _GITHUB_TOKENS
            or name.upper().endswith("_API_KEY")
        )
    }
