"""The commands of `jumpseat config`."""

from __future__ import annotations

from pathlib import Path

import click

from jumpseat_cli.command_line.groups import CommandGroup
from jumpseat_cli.command_line.options import HELP, config_option, json_option
from jumpseat_cli.terminal.failures import OK, print_json
from jumpseat_cli.terminal.running import run_work

new_config_option = click.option(
    "--config",
    type=click.Path(dir_okay=False, resolve_path=True, path_type=Path),
    metavar="FILE",
    help="Use this configuration file, which may not exist yet, instead of the default one.",
)


@click.group("config", cls=CommandGroup, no_args_is_help=True, context_settings=HELP)
def config_group() -> None:
    """Create, show, edit and check the configuration file.

    \b
    Examples:
      jumpseat config init
      jumpseat config edit
      jumpseat config check
    """


def _complete_service(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from jumpseat.providers.services import SERVICES

    return [name for name in SERVICES if name.startswith(incomplete)]


@config_group.command()
@click.option(
    "--provider",
    "providers",
    multiple=True,
    metavar="NAME",
    shell_complete=_complete_service,
    help="Write the table of this provider without asking. Repeatable.",
)
@new_config_option
@json_option
def init(providers: tuple[str, ...], config: Path | None, as_json: bool) -> int:
    """Ask which providers you use, and write a commented configuration file.

    An existing file is never changed. If there is neither a terminal nor --provider, the file contains only
    comments.

    \b
    Examples:
      jumpseat config init
      jumpseat config init --provider groq --provider ollama
      jumpseat config init --config other.toml

    Exit codes: 0 written; 1 the file exists, or cannot be written; 2 wrong usage.
    """
    from jumpseat_cli.configuration.editing import create_file

    return create_file(providers, config, as_json=as_json)


@config_group.command()
@config_option
@json_option
def show(config: Path | None, as_json: bool) -> int:
    """Print the configuration file without secrets and comments.

    \b
    Examples:
      jumpseat config show
      jumpseat config show --json | jq .providers
    """
    from jumpseat_cli.configuration import editing

    return editing.show(config, as_json=as_json)


@config_group.command()
@new_config_option
@json_option
def edit(config: Path | None, as_json: bool) -> int:
    """Open the configuration file in $VISUAL or $EDITOR, and check it afterwards.

    A new file starts with commented-out examples, and is deleted again if you change nothing.

    \b
    Examples:
      jumpseat config edit
      EDITOR='code --wait' jumpseat config edit

    Exit codes: 0 no errors; 1 errors in the file, or the editor failed; 2 wrong usage.
    """
    from jumpseat_cli.configuration import editing

    return editing.edit(config, as_json=as_json)


@config_group.command()
@json_option
def path(as_json: bool) -> int:
    """Print the path of the configuration file, which may not exist yet.

    \b
    Examples:
      jumpseat config path
    """
    from jumpseat.system.paths import places_of_process

    file = places_of_process().config_file
    if as_json:
        print_json({"file": str(file), "exists": file.exists()})
    else:
        print(file)
    return OK


@config_group.command()
@config_option
@json_option
def check(config: Path | None, as_json: bool) -> int:
    """Report every mistake in the configuration file, one per line.

    Also reports programs and models that the file's providers need, but that are missing on this machine.
    Does not send requests or read credentials; 'jumpseat doctor' does.

    \b
    Examples:
      jumpseat config check
      jumpseat config check --config other.toml
      jumpseat config check --json | jq -r '.errors[].message'

    Exit codes: 0 no errors (warnings are possible); 1 errors; 2 wrong usage.
    """
    from jumpseat_cli.configuration import editing

    return run_work(editing.check(config, as_json=as_json), as_json=as_json)
