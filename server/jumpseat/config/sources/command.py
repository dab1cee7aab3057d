"""`cmd:command line`: the output of a command. The line is split as in a POSIX shell, but not run by one."""

from __future__ import annotations

import shlex

from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource
from jumpseat.system.commands import CommandError, run_command_line


async def _read(line: str, table: ProviderConfig) -> str:
    try:
        return await run_command_line(line, table.origin.directory, table.origin.environment)
    except CommandError as error:
        raise SourceError(
            str(error), "Run it in a terminal to see what it writes; its output is never logged."
        ) from None


def _find_fault(line: str, table: ProviderConfig) -> str | None:
    try:
        words = shlex.split(line)
    except ValueError as error:
        return f"has a command line that cannot be split: {str(error).lower()}"
    return None if words else "has no command"


def _mask_arguments(line: str) -> str:
    """Return the program without its arguments, which may contain a secret."""
    program, *others = line.split(maxsplit=1) or [""]
    return f"{program} …" if others else program


COMMAND = ValueSource(prefix="cmd:", read=_read, find_fault=_find_fault, costly=True, mask=_mask_arguments)
