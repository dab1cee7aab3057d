"""The commands of `jumpseat prompts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_prompt
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, run_async
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.failures import OK, print_json, say
from jumpseat_cli.terminal.output import print_text
from jumpseat_cli.terminal.tables import print_rows


@click.group("prompts", cls=ListByDefault, context_settings=HELP)
def prompts() -> None:
    """List and show the prompts.

    Some prompts are built in. A table [prompts.NAME] of the configuration file adds a prompt, or replaces the
    built-in one of that name. 'jumpseat chat -p NAME' uses a prompt, and editors offer the prompts too.
    Without a command, this is 'jumpseat prompts list'.

    \b
    Examples:
      jumpseat prompts
      jumpseat prompts show review
      git diff | jumpseat chat -p review
    """


@prompts.command("list")
@daemon_options
@json_option
@run_async
async def list_prompts(daemon_command: list[str], as_json: bool) -> int:
    """List the prompts.

    In a pipe, each line is a prompt: name, description, model and 'built in' or nothing, separated by tabs.

    \b
    Examples:
      jumpseat prompts list
      jumpseat prompts list --json | jq -r '.prompts[] | select(.builtin | not) | .name'
    """
    async with daemon(daemon_command) as client:
        rows = await client.list_prompts()
    if as_json:
        print_json({"prompts": rows})
    else:
        print_rows(("Name", "Description", "Model", "Notes"), [_cells(row) for row in rows])
    return OK


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    note = "built in" if row.get("builtin") else ""
    return (row["name"], row.get("description", ""), row.get("model", ""), note)


@prompts.command("show")
@click.argument("name", shell_complete=complete_prompt)
@click.argument("words", metavar="[INPUT]...", nargs=-1)
@daemon_options
@json_option
@run_async
async def show_prompt(name: str, words: tuple[str, ...], daemon_command: list[str], as_json: bool) -> int:
    """Show the question that a chat with this prompt and INPUT would ask.

    \b
    Examples:
      jumpseat prompts show review
      jumpseat prompts show translate "Guten Tag"
      jumpseat prompts show --json review | jq -r .text
    """
    async with daemon(daemon_command) as client:
        prompt = await client.get_prompt(name, " ".join(words))
    if as_json:
        print_json(prompt)
        return OK
    for key in ("model", "system"):
        if key in prompt:
            say(f"{key}: {prompt[key]}")
    for key, value in prompt.get("settings", {}).items():
        say(f"{key}: {value}")
    print_text(prompt["text"])
    return OK
