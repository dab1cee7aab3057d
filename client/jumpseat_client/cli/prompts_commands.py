"""The commands of `jumpseat prompts`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jumpseat_client.cli.completion import complete_prompt
from jumpseat_client.cli.failures import OK
from jumpseat_client.cli.options import (
    HELP,
    config_option,
    daemon_command_of,
    daemon_options,
    json_option,
    own_option,
    run_work,
)

if TYPE_CHECKING:
    pass


@click.group(invoke_without_command=True, context_settings=HELP)
@config_option
@own_option
@json_option
@click.pass_context
def prompts(context: click.Context, config: Path | None, own: bool, as_json: bool) -> int:
    """List and show the prompts of the configuration, the tables [prompts.NAME].

    Without a command, they are listed. 'jumpseat chat -p NAME' asks one; editors offer the same ones.

    \b
    examples:
      jumpseat prompts
      jumpseat prompts show review
      git diff | jumpseat chat -p review
    """
    if context.invoked_subcommand is not None:
        if config is not None or own or as_json:
            raise click.UsageError(f"Put the options after '{context.invoked_subcommand}'.")
        return OK
    return _list(daemon_command_of(config, own=own), as_json=as_json)


@prompts.command("list")
@daemon_options
@json_option
def list_prompts(daemon_command: list[str], as_json: bool) -> int:
    """List the prompts.

    In a pipe each line is a prompt: name, description and model, separated by tabs.

    \b
    examples:
      jumpseat prompts list
      jumpseat prompts list --json | jq -r '.prompts[].name'
    """
    return _list(daemon_command, as_json=as_json)


@prompts.command("show")
@click.argument("name", shell_complete=complete_prompt)
@click.argument("given", metavar="[INPUT]...", nargs=-1)
@daemon_options
@json_option
def show_prompt(name: str, given: tuple[str, ...], daemon_command: list[str], as_json: bool) -> int:
    """Show what a chat with the prompt would ask, with INPUT in its text.

    \b
    examples:
      jumpseat prompts show review
      jumpseat prompts show translate "Guten Tag"
      jumpseat prompts show --json review | jq -r .text
    """
    from jumpseat_client.cli.prompts import show

    work = show(name, " ".join(given), daemon_command=daemon_command, as_json=as_json)
    return run_work(work, as_json=as_json)


def _list(daemon_command: list[str], *, as_json: bool) -> int:
    from jumpseat_client.cli.prompts import show_list

    return run_work(show_list(daemon_command=daemon_command, as_json=as_json), as_json=as_json)
