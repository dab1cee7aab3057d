"""Shared by all commands: options, help settings, and running a coroutine to its exit code."""

from __future__ import annotations

import asyncio
import functools
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from jumpseat_cli.terminal.failures import (
    BY_SIGTERM,
    FAILED,
    INTERRUPTED,
    TERMINATED,
    cancelled_error,
    print_client_error,
    print_json,
)
from jumpseat_client.errors import ClientError

T = TypeVar("T")

THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "max")

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

config_option = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    metavar="FILE",
    help="Use this configuration file instead of the default one.",
)
own_option = click.option(
    "--own", is_flag=True, help="Start a daemon for this command alone instead of using the shared one."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


class CannotAsk(click.ClickException):
    """A file, an image or stdin cannot be sent; the message says why."""


def daemon_command_of(config: Path | None, *, own: bool) -> list[str]:
    """The command line of the daemon that these options ask for."""
    from jumpseat_client.client import default_command

    command = default_command(shared=not own)
    return command if config is None else [*command, "--config", str(config)]


def daemon_options(function: Callable[..., int]) -> Callable[..., int]:
    """Options that choose the daemon; the function gets its command line as `daemon_command`."""

    @config_option
    @own_option
    @functools.wraps(function)
    def with_command(*arguments: Any, config: Path | None, own: bool, **options: Any) -> int:
        return function(*arguments, daemon_command=daemon_command_of(config, own=own), **options)

    return with_command


def run_work(work: Coroutine[Any, Any, int], *, as_json: bool) -> int:
    """Run a command's coroutine; turn its failures into messages and exit codes."""
    try:
        return asyncio.run(until_terminated(work))
    except (KeyboardInterrupt, asyncio.CancelledError) as error:
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else TERMINATED
        if as_json:
            print_json({"error": cancelled_error(code)})
        return code
    except ClientError as error:
        print_client_error(error, as_json=as_json)
        return FAILED


async def until_terminated(work: Coroutine[Any, Any, T]) -> T:
    """Do the work; SIGTERM cancels it, so that it gives the terminal back as it was."""
    task = asyncio.current_task()
    if task is not None:
        with suppress(NotImplementedError):  # Windows has no such signal.
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel, BY_SIGTERM)
    return await work
