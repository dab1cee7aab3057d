"""Options and help settings that commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import click

from jumpseat_cli.terminal.running import run_work

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
rules_option = click.option(
    "--rules",
    "workspace_rules",
    is_flag=True,
    help="Follow AGENTS.md, CLAUDE.md and .github/copilot-instructions.md of the workspace.",
)


def _read_overlay(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Mapping[str, Any] | None:
    if path is None:
        return None
    from jumpseat_cli.configuration.overlay import read_overlay  # Deferred: few commands have an overlay.

    try:
        return read_overlay(path)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


overlay_option = click.option(
    "--overlay",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    metavar="FILE",
    callback=_read_overlay,
    help="Add a workspace's configuration. Its MCP servers run only if you trust them.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def daemon_command_of(config: Path | None, *, own: bool) -> list[str]:
    """Return the command line of the daemon that these options select."""
    from jumpseat_client.client import default_command

    command = default_command(shared=not own)
    return command if config is None else [*command, "--config", str(config)]


def daemon_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that select the daemon, and pass its command line as `daemon_command`."""

    @config_option
    @own_option
    @functools.wraps(function)
    def with_command(config: Path | None, own: bool, **options: Any) -> int:
        return function(daemon_command=daemon_command_of(config, own=own), **options)

    return with_command


def run_async(function: Callable[..., Coroutine[Any, Any, int]]) -> Callable[..., int]:
    """Turn a coroutine function with the parameter `as_json` into a command."""

    @functools.wraps(function)
    def run(**options: Any) -> int:
        return run_work(function(**options), as_json=options["as_json"])

    return run
