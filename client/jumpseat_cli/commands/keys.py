"""The commands of `jumpseat keys`."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, config_option, json_option


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the providers in the configuration file, and for `set` also the known services."""
    from jumpseat_cli.configuration.keys import completions

    with_services = context.info_name == "set"
    return [
        CompletionItem(name, help=title)
        for name, title in completions(context.params.get("config"), services=with_services)
        if name.startswith(incomplete)
    ]


@click.group("keys", cls=ListByDefault, context_settings=HELP)
def keys() -> None:
    """Store providers' keys outside the configuration file.

    Keys are stored in the system's keyring or, if there is none, in files that only you can read. The
    configuration file refers to the keys, but does not contain them.

    \b
    Examples:
      jumpseat keys set groq
      jumpseat keys list
      jumpseat keys remove groq
    """


@keys.command("set")
@click.argument("provider", shell_complete=_complete)
@click.argument("surplus", nargs=-1, metavar="")
@click.option("--file", "in_file", is_flag=True, help="Use a private file even if there is a keyring.")
@config_option
@json_option
def set_key(
    provider: str, surplus: tuple[str, ...], in_file: bool, config: Path | None, as_json: bool
) -> int:
    """Ask for PROVIDER's key, store it, and refer to it in the configuration file.

    The key is typed without being shown, or read from a pipe; it is never an argument. If PROVIDER is a
    well-known service without a table in the configuration file, the table is added. A key that jumpseat
    stored earlier is replaced; a key from elsewhere is not. The configuration file keeps its comments and its
    layout.

    \b
    Examples:
      jumpseat keys set groq
      pass show groq | jumpseat keys set groq
      jumpseat keys set --file groq

    Exit codes: 0 stored; 1 the key cannot be stored, or would replace a key from elsewhere; 2 wrong usage, or
    no key.
    """
    from jumpseat_cli.configuration import keys as work

    if surplus:
        # Do not print the argument: it may be the key.
        raise click.UsageError(
            "Other users can see arguments, so leave out the key. The command asks for it."
        )
    return work.ask_for_key(provider, config, in_file=in_file, as_json=as_json)


@keys.command("list")
@config_option
@json_option
def list_keys(config: Path | None, as_json: bool) -> int:
    """Show where each provider's key comes from, without reading or showing keys.

    \b
    Examples:
      jumpseat keys list
      jumpseat keys list --json | jq -r '.keys[].provider'
    """
    from jumpseat_cli.configuration import keys as work

    return work.list_keys(config, as_json=as_json)


@keys.command("remove")
@click.argument("provider", shell_complete=_complete)
@config_option
@json_option
def remove_key(provider: str, config: Path | None, as_json: bool) -> int:
    """Delete PROVIDER's stored key, and restore the previous source in the configuration file.

    \b
    Examples:
      jumpseat keys remove groq

    Exit codes: 0 deleted; 1 jumpseat has not stored a key for PROVIDER; 2 wrong usage.
    """
    from jumpseat_cli.configuration import keys as work

    return work.remove_stored_key(provider, config, as_json=as_json)
