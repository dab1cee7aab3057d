"""The commands of `jumpseat settings`."""

from __future__ import annotations

import click

from jumpseat_cli.command_line.completion import complete_saved_key, complete_saved_value
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, run_work


@click.group("settings", cls=ListByDefault, context_settings=HELP)
def settings() -> None:
    """Show or change the saved settings; running editors use them at once.

    The keys are default_provider, default_model, max_tokens, and providers.ID.KEY for a provider's settings.
    Without a command it is 'jumpseat settings list'. The configuration file overrides saved settings.

    \b
    Examples:
      jumpseat settings
      jumpseat settings set default_provider groq
      jumpseat settings set providers.groq.temperature 0.2
      jumpseat settings get default_model
      jumpseat settings unset max_tokens

    Exit codes: 0 success; 1 rejected, or nothing is saved under that key; 2 wrong usage.
    """


@settings.command("list")
@daemon_options
@json_option
def list_settings(daemon_command: list[str], as_json: bool) -> int:
    """List all saved settings.

    In a pipe each line is a key and its value, separated by a tab.

    \b
    Examples:
      jumpseat settings list
      jumpseat settings list --json | jq -r .default_model
    """
    from jumpseat_cli.commands.settings import show_settings

    return run_work(show_settings(None, daemon_command=daemon_command, as_json=as_json), as_json=as_json)


@settings.command("get")
@click.argument("key", shell_complete=complete_saved_key)
@daemon_options
@json_option
def get_setting(key: str, daemon_command: list[str], as_json: bool) -> int:
    """Print one value; exit with 1 if nothing is saved under that key.

    \b
    Examples:
      jumpseat settings get default_model
      jumpseat settings get providers.groq.temperature
      jumpseat settings get --json providers
    """
    from jumpseat_cli.commands.settings import show_settings

    return run_work(show_settings(key, daemon_command=daemon_command, as_json=as_json), as_json=as_json)


@settings.command("set")
@click.argument("key", shell_complete=complete_saved_key)
@click.argument("value", shell_complete=complete_saved_value)
@daemon_options
@json_option
def set_setting(key: str, value: str, daemon_command: list[str], as_json: bool) -> int:
    """Save one value. Valid JSON is saved as JSON, everything else as a string.

    \b
    Examples:
      jumpseat settings set default_model groq:llama-3.3-70b-versatile
      jumpseat settings set max_tokens 4000
      jumpseat settings set providers.groq.temperature 0.2
    """
    from jumpseat_cli.commands.settings import change_setting, value_of

    parsed = value_of(key, value)
    if parsed is None:
        raise click.UsageError(f"To remove it: jumpseat settings unset {key}")
    return run_work(
        change_setting(key, parsed, daemon_command=daemon_command, as_json=as_json), as_json=as_json
    )


@settings.command("unset")
@click.argument("key", shell_complete=complete_saved_key)
@daemon_options
@json_option
def unset_setting(key: str, daemon_command: list[str], as_json: bool) -> int:
    """Remove one value, or all values of a provider.

    \b
    Examples:
      jumpseat settings unset default_model
      jumpseat settings unset providers.groq.temperature
      jumpseat settings unset providers.groq
    """
    from jumpseat_cli.commands.settings import change_setting

    return run_work(
        change_setting(key, None, daemon_command=daemon_command, as_json=as_json), as_json=as_json
    )
