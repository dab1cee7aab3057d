"""The output of a program that the user configured as the source of a value.

There is no shell, no standard input and no window.
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
"""Long enough for a helper that asks a service for a token; too short for a prompt to a person."""

MAX_OUTPUT_BYTES = 64 * 1024

_GITHUB_TOKENS = frozenset({"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"})


class CommandError(Exception):
    """The command gave no output. Says why, without its output."""


async def output_of(line: str, directory: Path, environment: Environment) -> str:
    """What a command writes, without white space around it.

    Args:
        line: program and arguments as a POSIX shell would split them; nothing in it is expanded.
        directory: where it runs, and where a program with a relative path is.
        environment: the client's.

    Raises:
        CommandError: it cannot be run, fails, takes too long, or writes too much.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise CommandError(f"the command line cannot be split: {str(error).lower()}") from None
    if not words:
        raise CommandError("there is no command")

    def located() -> tuple[str, Path]:
        # Never the client's own directory, which is a workspace.
        return _program(words[0], directory, environment), existing(directory)

    try:
        program, working_directory = await run_blocking(located, within=COMMAND_SECONDS)
    except TimeoutError:
        raise CommandError(f"the program was not found within {COMMAND_SECONDS:g} s") from None
    return await run(
        [program, *words[1:]],
        env=environment_of_commands(environment),
        directory=working_directory,
        umask=environment.umask,
        seconds=COMMAND_SECONDS,
    )


def existing(directory: Path) -> Path:
    """The directory, or the root where it does not exist: a program can start in it. Blocks."""
    return directory if directory.is_dir() else Path(directory.anchor)


async def run(
    argv: Sequence[str], *, env: Mapping[str, str], directory: Path, umask: int, seconds: float
) -> str:
    """What a program writes to its stdout, without white space around it.

    What the program leaves running in the background, an agent for example, is not ended.

    Args:
        argv: program and arguments.
        env: its whole environment.
        directory: where it runs.
        umask: its umask; -1 for ours.
        seconds: how long it may take.

    Raises:
        CommandError: it cannot be run, fails, takes too long, or writes too much.
    """
    command = _Command(seconds)
    # Stderr is never read: it may hold the secret, which must not reach a log.
    streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        await command.start(argv, env=env, directory=directory, umask=umask, **streams)
    except OSError as error:
        raise CommandError(f"the command cannot be run ({type(error).__name__})") from None
    try:
        async with asyncio.timeout(seconds):
            await command.ended()
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


def _program(name: str, directory: Path, environment: Environment) -> str:
    if Path(name).name != name:
        return str(directory / name)
    program = environment.which(name)
    if program is None:
        raise CommandError("the program is not found on the PATH")
    return program


def environment_of_commands(environment: Environment) -> dict[str, str]:
    """The client's variables without the keys of providers; a command may need any other variable."""
    return {
        name: value
        for name, value in environment.variables.items()
        if not (
            name in environment.kept_back
            or name.upper() in _GITHUB_TOKENS
            or name.upper().endswith("_API_KEY")
        )
    }
