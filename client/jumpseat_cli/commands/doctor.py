"""`jumpseat doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from jumpseat_cli.command_line.completion import complete_provider
from jumpseat_cli.command_line.options import (
    config_option,
    daemon_command_of,
    json_option,
    own_option,
)
from jumpseat_cli.terminal.running import run_work


@click.command()
@click.argument("provider", required=False, shell_complete=complete_provider)
@click.option("--no-chat", is_flag=True, help="Send only free requests, not chats.")
@config_option
@own_option
@json_option
def doctor(provider: str | None, no_chat: bool, config: Path | None, own: bool, as_json: bool) -> int:
    """Find problems and suggest fixes.

    Checks the installation, the configuration, the daemon, each tool server (which it starts), and each
    provider that is set up: its key, the network, its models, and one short chat. With PROVIDER, skips the
    other providers and the tool servers. The default provider's chat uses the default model; the chats of
    other providers never use a model that costs premium requests. The checks run commands from the
    configuration, and a keyring may prompt.

    The report does not contain secrets, so you can paste it into a bug report.

    \b
    Examples:
      jumpseat doctor
      jumpseat doctor --no-chat
      jumpseat doctor copilot
      jumpseat doctor --json | jq '.sections[].checks[] | select(.ok == false)'

    Exit codes: 0 no problems; 1 problems; 2 wrong usage.
    """
    from jumpseat_cli.doctor.run import examine

    work = examine(
        provider=provider,
        config=config,
        chat=not no_chat,
        daemon_command=daemon_command_of(config, own=own),
        as_json=as_json,
    )
    return run_work(work, as_json=as_json)
