"""`jumpseat daemon`, which manages the shared daemon, and the help of `serve`, `attach` and `acp`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from jumpseat.hub.programs import run_program
from jumpseat_cli.command_line.groups import CommandGroup
from jumpseat_cli.command_line.options import HELP, json_option
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json


class SelfParsedCommand(click.Command):
    """A command that parses its flags itself: `serve`, `attach` or `acp`.

    `main` runs it without click. This class exists for the help and for shell completion.
    """

    def __init__(self, name: str, *, text: str) -> None:
        rest = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED, shell_complete=_complete_flags)
        super().__init__(
            name,
            callback=lambda arguments: run_program([name, *arguments]),
            params=[rest],
            help=text,
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "help_option_names": []},
        )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the flags."""
        return _complete_flags(ctx, self.params[0], incomplete)


def _complete_flags(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from jumpseat.connections.flags import build_parser

    flags = {
        name: action
        for action in build_parser(str(context.info_name))._actions
        for name in action.option_strings
    }
    before = (context.params.get("arguments") or [""])[-1]
    action = flags.get(before)
    if action is not None and action.nargs != 0:  # The flag's value comes next.
        if action.choices is not None:
            return [CompletionItem(each) for each in action.choices if each.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file")] if action.type is Path else []
    return [
        CompletionItem(name, help=action.help)
        for name, action in flags.items()
        if name.startswith(incomplete) and name.startswith("--")
    ]


serve = SelfParsedCommand(
    "serve", text="Run the daemon on stdin and stdout, as editors do ('jumpseat serve --help')."
)
attach = SelfParsedCommand(
    "attach",
    text="Connect stdin and stdout to the daemon that all your clients share ('jumpseat attach --help').",
)
acp = SelfParsedCommand(
    "acp", text="Serve an editor that speaks the Agent Client Protocol ('jumpseat acp --help')."
)


@click.group("daemon", cls=CommandGroup, no_args_is_help=True, context_settings=HELP)
def daemon_group() -> None:
    """Show or stop the daemon that all clients share.

    \b
    Examples:
      jumpseat daemon status
      jumpseat daemon stop
    """


@daemon_group.command("status")
@json_option
def daemon_status(as_json: bool) -> int:
    """Show whether the daemon is running, and for which clients, without starting it.

    After an upgrade, an older daemon keeps serving its clients; it is listed too.

    \b
    Examples:
      jumpseat daemon status
      jumpseat daemon status --json | jq '.clients[].pid'

    Exit codes: 0 it is running; 1 it is not.
    """
    from jumpseat.hub import command

    try:
        status = command.daemon_status()
    except command.NoAnswerError as error:
        return print_failure(str(error))
    if as_json:
        print_json(status)
    else:
        if status["running"]:
            _print_daemon(status)
        else:
            print("The daemon is not running.")
        for other in status.get("others", ()):
            print("A daemon of another version or installation is running:")
            _print_daemon(other)
    return OK if status["running"] else FAILED


def _print_daemon(status: Mapping[str, Any]) -> None:
    from jumpseat_cli.terminal.wrapping import print_line

    memory = round(status["memoryBytes"] / (1 << 20))
    print_line(f"jumpseat {status['version']}, process {status['pid']}, {memory} MiB, {status['socket']}")
    for client in status["clients"]:
        name = f"{client.get('name', 'unnamed')} {client.get('version', '')}".strip()
        turns = f"{client['turns']} turn{'' if client['turns'] == 1 else 's'} running"
        print_line(f"  {name}: process {client['pid']}, {turns}, attached since {client['attachedAt']}")


@daemon_group.command("stop")
@json_option
def stop(as_json: bool) -> int:
    """Stop the daemon, cancel running turns and disconnect all clients.

    This includes daemons of other versions and installations.

    \b
    Examples:
      jumpseat daemon stop

    Exit codes: 0 it was stopped; 1 it was not running.
    """
    from jumpseat.hub import command

    try:
        if command.stop_daemons():
            if as_json:
                print_json({"stopped": True})
            return OK
    except command.NoAnswerError as error:
        return print_failure(str(error))
    return print_failure("The daemon is not running.")
