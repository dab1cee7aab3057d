"""`jumpseat settings`: the daemon's saved settings, with dotted keys as in `git config`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_saved_key, complete_saved_value
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, run_async
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.daemon.settings import save_settings
from jumpseat_cli.terminal.failures import OK, print_failure, print_json, say
from jumpseat_cli.terminal.text import clean_line

STRING_KEYS = ("default_provider", "default_model")
"""Keys whose values are always strings, even if they look like JSON."""


@click.group("settings", cls=ListByDefault, context_settings=HELP)
def settings() -> None:
    """Show or change the saved settings; running editors use them immediately.

    The keys are default_provider, default_model, max_tokens, and providers.ID.KEY for a provider's settings.
    Without a command, this is 'jumpseat settings list'. The configuration file overrides saved settings.

    \b
    Examples:
      jumpseat settings
      jumpseat settings set default_provider groq
      jumpseat settings set providers.groq.temperature 0.2
      jumpseat settings get default_model
      jumpseat settings unset max_tokens

    Exit codes: 0 success; 1 the value is rejected, or nothing is saved under that key; 2 wrong usage.
    """


@settings.command("list")
@daemon_options
@json_option
@run_async
async def list_settings(daemon_command: list[str], as_json: bool) -> int:
    """List all saved settings.

    In a pipe, each line is a key and its value, separated by a tab.

    \b
    Examples:
      jumpseat settings list
      jumpseat settings list --json | jq -r .default_model
    """
    async with daemon(daemon_command) as client:
        saved = await client.settings()
    if as_json:
        print_json(saved)
        return OK
    for name, value in _flatten(saved):
        print(f"{clean_line(name)}\t{_format_value(value)}")
    if not any(_flatten(saved)):
        say("There are no saved settings. To save one: jumpseat settings set KEY VALUE")
    return OK


@settings.command("get")
@click.argument("key", shell_complete=complete_saved_key)
@daemon_options
@json_option
@run_async
async def get_setting(key: str, daemon_command: list[str], as_json: bool) -> int:
    """Print one value; exit with 1 if nothing is saved under that key.

    \b
    Examples:
      jumpseat settings get default_model
      jumpseat settings get providers.groq.temperature
      jumpseat settings get --json providers
    """
    async with daemon(daemon_command) as client:
        value = _look_up(await client.settings(), key)
    if value is None:
        return _report_missing(key)
    if as_json:
        print_json(value)
    else:
        print(_format_value(value))
    return OK


@settings.command("set")
@click.argument("key", shell_complete=complete_saved_key)
@click.argument("value", shell_complete=complete_saved_value)
@daemon_options
@json_option
@run_async
async def set_setting(key: str, value: str, daemon_command: list[str], as_json: bool) -> int:
    """Save one value. Valid JSON is saved as JSON, everything else as a string.

    \b
    Examples:
      jumpseat settings set default_model groq:llama-3.3-70b-versatile
      jumpseat settings set max_tokens 4000
      jumpseat settings set providers.groq.temperature 0.2
    """
    parsed = parse_value(key, value)
    if parsed is None:
        raise click.UsageError(f"null is not a value. To remove the setting: jumpseat settings unset {key}")
    return await _change(key, parsed, daemon_command, as_json=as_json)


@settings.command("unset")
@click.argument("key", shell_complete=complete_saved_key)
@daemon_options
@json_option
@run_async
async def unset_setting(key: str, daemon_command: list[str], as_json: bool) -> int:
    """Remove one value, or all values of a provider.

    \b
    Examples:
      jumpseat settings unset default_model
      jumpseat settings unset providers.groq.temperature
      jumpseat settings unset providers.groq
    """
    return await _change(key, None, daemon_command, as_json=as_json)


async def _change(key: str, value: Any, daemon_command: list[str], *, as_json: bool) -> int:
    """Save one value, or remove it if the value is None."""
    patch: Any = value
    for part in reversed(split_key(key)):
        patch = {part: patch}
    async with daemon(daemon_command) as client:
        if value is None and _look_up(await client.settings(), key) is None:
            return _report_missing(key)
        saved = await save_settings(client, patch)
    if as_json:
        print_json(saved)
    return OK


def _look_up(settings: Mapping[str, Any], key: str) -> Any:
    value: Any = settings
    for part in split_key(key):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _report_missing(key: str) -> int:
    return print_failure(f"Nothing is saved as {key}.", "Run `jumpseat settings` to list the saved settings.")


def split_key(key: str) -> list[str]:
    """Split a dotted key; a provider id may contain dots."""
    first, dot, rest = key.partition(".")
    if first != "providers" or not dot:
        return [key]
    provider, dot, name = rest.rpartition(".")
    return [first, provider, name] if dot else [first, rest]


def parse_value(key: str, text: str) -> Any:
    """Parse a typed value as JSON, or return it unchanged if it is not valid JSON."""
    if key in STRING_KEYS:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _flatten(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in sorted(settings.items()):
        if key != "providers":
            yield key, value
    for provider, table in sorted(settings.get("providers", {}).items()):
        for key, value in sorted(table.items()):
            yield f"providers.{provider}.{key}", value


def _format_value(value: Any) -> str:
    """Format a value on one line: strings without quotes, everything else as JSON."""
    return clean_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
