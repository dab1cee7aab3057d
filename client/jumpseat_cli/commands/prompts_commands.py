"""The commands of `jumpseat prompts`."""

from __future__ import annotations

import click

from jumpseat_cli.command_line.completion import complete_prompt
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, run_work


@click.group("prompts", cls=ListByDefault, context_settings=HELP)
def prompts() -> None:
    """List and show the prompts of the configuration, the tables [prompts.NAME].

    Without a command it is 'jumpseat prompts list'. 'jumpseat chat -p NAME' asks one; editors offer the same
    ones.

    \b
    Examples:
      jumpseat prompts
      jumpseat prompts show review
      git diff | jumpseat chat -p review
    """


@prompts.command("list")
@daemon_options
@json_option
def list_prompts(daemon_command: list[str], as_json: bool) -> int:
    """List the prompts.

    In a pipe each line is a prompt: name, description and model, separated by tabs.

    \b
    Examples:
      jumpseat prompts list
      jumpseat prompts list --json | jq -r '.prompts[].name'
    """
    from jumpseat_cli.commands.prompts import show_list

    return run_work(show_list(daemon_command=daemon_command, as_json=as_json), as_json=as_json)


@prompts.command("show")
@click.argument("name", shell_complete=complete_prompt)
@click.argument("given", metavar="[INPUT]...", nargs=-1)
@daemon_options
@json_option
def show_prompt(name: str, given: tuple[str, ...], daemon_command: list[str], as_json: bool) -> int:
    """Show what a chat with the prompt would ask, with INPUT in its text.

    \b
    Examples:
      jumpseat prompts show review
      jumpseat prompts show translate "Guten Tag"
      jumpseat prompts show --json review | jq -r .text
    """
    from jumpseat_cli.commands.prompts import show

    work = show(name, " ".join(given), daemon_command=daemon_command, as_json=as_json)
    return run_work(work, as_json=as_json)
