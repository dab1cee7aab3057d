"""`jumpseat attach` for the help, and `jumpseat daemon`: the one daemon of all clients."""

from __future__ import annotations

import click

from jumpseat_client.cli.failures import FAILED, OK, print_failure, print_json
from jumpseat_client.cli.groups import CommandGroup
from jumpseat_client.cli.options import HELP, json_option


# `main` attaches without click; this command serves the help and completion.
@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def attach(arguments: tuple[str, ...]) -> int:
    """Use the daemon that all your clients share, as 'jumpseat serve' ('jumpseat attach --help')."""
    from jumpseat.hub.attach import main

    return main(list(arguments))


@click.group("daemon", cls=CommandGroup, no_args_is_help=True, context_settings=HELP)
def daemon_group() -> None:
    """The daemon that serves all attached clients.

    \b
    examples:
      jumpseat daemon status
      jumpseat daemon stop
    """


@daemon_group.command("status")
@json_option
def daemon_status(as_json: bool) -> int:
    """Show whether the daemon runs, and for which clients. Starts none.

    \b
    examples:
      jumpseat daemon status
      jumpseat daemon status --json | jq '.clients[].pid'

    \b
    exit codes: 0 it runs; 1 it does not.
    """
    from jumpseat.hub import command

    try:
        status = command.daemon_status()
    except command.NoAnswerError as error:
        print_failure(str(error), None)
        return FAILED
    if as_json:
        print_json(status)
    elif not status["running"]:
        print("The daemon is not running.")
    else:
        memory = round(status["memoryBytes"] / (1 << 20))
        print(f"jumpseat {status['version']}, process {status['pid']}, {memory} MiB, {status['socket']}")
        for client in status["clients"]:
            name = f"{client.get('name', 'unnamed')} {client.get('version', '')}".strip()
            print(f"  {name}: process {client['pid']}, turns {client['turns']}, since {client['attachedAt']}")
    return OK if status["running"] else FAILED


@daemon_group.command("stop")
def stop() -> int:
    """End the daemon: running turns are cancelled, and attached clients end.

    \b
    examples:
      jumpseat daemon stop

    \b
    exit codes: 0 it has ended; 1 there was none.
    """
    from jumpseat.hub import command

    try:
        if command.stop_daemon():
            return OK
    except command.NoAnswerError as error:
        print_failure(str(error), None)
        return FAILED
    print_failure("The daemon is not running.", None)
    return FAILED
