"""The commands of `jumpseat models`."""

from __future__ import annotations

import click

from jumpseat_cli.command_line.completion import complete_model, complete_provider
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, run_work


@click.group("models", cls=ListByDefault, context_settings=HELP)
def models() -> None:
    """List the models that can be used, or show and set the default one.

    WORDS are searched in the names. Without a command it is 'jumpseat models list', with its options
    (--provider, --refresh, --json, --own, --config).

    \b
    Examples:
      jumpseat models
      jumpseat models claude
      jumpseat models --provider copilot
      jumpseat models default
      jumpseat models default groq:llama-3.3-70b-versatile
    """


@models.command("list")
@click.argument("words", nargs=-1)
@click.option(
    "--provider", metavar="ID", shell_complete=complete_provider, help="Only this provider's models."
)
@click.option("--refresh", is_flag=True, help="Request the lists again instead of using cached ones.")
@daemon_options
@json_option
def list_models(
    words: tuple[str, ...], provider: str | None, refresh: bool, daemon_command: list[str], as_json: bool
) -> int:
    """List the models, or those that have all WORDS in their names.

    The cost is in premium requests, or in the provider's unit for input and output. In a pipe each line is a
    model: id, name, context length, output limit, abilities, cost and notes, separated by tabs.

    \b
    Examples:
      jumpseat models list
      jumpseat models list claude opus
      jumpseat models list --provider copilot --refresh
      jumpseat models list --json | jq -r '.models[].id'

    Exit codes: 0 success; 1 no such model, or none can be listed; 2 wrong usage.
    """
    from jumpseat_cli.commands.models import show_models

    work = show_models(
        words, provider=provider, refresh=refresh, daemon_command=daemon_command, as_json=as_json
    )
    return run_work(work, as_json=as_json)


@models.command("default")
@click.argument("model", required=False, shell_complete=complete_model)
@click.option("--unset", is_flag=True, help="Forget the saved default model.")
@daemon_options
@json_option
def default(model: str | None, unset: bool, daemon_command: list[str], as_json: bool) -> int:
    """Show the model of a chat that names none, or make MODEL that one; running editors use it at once.

    \b
    Examples:
      jumpseat models default
      jumpseat models default groq:llama-3.3-70b-versatile
      jumpseat models default --unset

    Exit codes: 0 success; 1 there is none, or the name is rejected; 2 wrong usage.
    """
    from jumpseat_cli.commands.models import set_default, show_default

    if unset and model is not None:
        raise click.UsageError("--unset takes no model.")
    if unset or model is not None:
        work = set_default(model, daemon_command=daemon_command, as_json=as_json)
    else:
        work = show_default(daemon_command=daemon_command, as_json=as_json)
    return run_work(work, as_json=as_json)
