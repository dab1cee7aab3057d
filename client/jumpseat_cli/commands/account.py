"""The account commands: sign in, sign out, accept a model's terms."""

from __future__ import annotations

import sys
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_model_with_terms, complete_provider_with_sign_in
from jumpseat_cli.command_line.options import daemon_options, json_option, run_async
from jumpseat_cli.daemon.rows import USABLE
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.daemon.sign_in import DEFAULT_PROVIDER, account_of, log_in, place_of
from jumpseat_cli.terminal.failures import FAILED, OK, USAGE, print_failure, print_json, say
from jumpseat_cli.terminal.questions import confirm
from jumpseat_cli.terminal.text import clean, clean_line


@click.command()
@click.argument("provider", required=False, shell_complete=complete_provider_with_sign_in)
@click.option(
    "--browser/--no-browser", default=None, help="Open the page in a browser; by default only on a terminal."
)
@click.option("--again", is_flag=True, help="Sign in even if an account is already signed in.")
@daemon_options
@json_option
@run_async
async def login(
    provider: str | None, browser: bool | None, again: bool, daemon_command: list[str], as_json: bool
) -> int:
    """Sign in to GitHub Copilot, or to PROVIDER, with a code.

    Shows a code and the address of a page, and waits until you have entered the code there. The token is
    stored in the keyring, or in a file that only you can read. Running editors use it immediately. GitHub's
    language server stores its own sign-in.

    If an account is already signed in, shows which one and, on a terminal, asks whether to sign in again.

    \b
    Examples:
      jumpseat login
      jumpseat login work
      jumpseat login --again
      jumpseat login --no-browser --json
    """
    return await log_in(
        provider=provider,
        browser=sys.stderr.isatty() if browser is None else browser,
        again=again,
        asks=sys.stdin.isatty() and not as_json,
        daemon_command=daemon_command,
        as_json=as_json,
    )


@click.command()
@click.argument("provider", required=False, shell_complete=complete_provider_with_sign_in)
@daemon_options
@json_option
@run_async
async def logout(provider: str | None, daemon_command: list[str], as_json: bool) -> int:
    """Sign out of GitHub Copilot, or of PROVIDER; running editors are signed out immediately.

    If no account is signed in, the exit code is 1.

    \b
    Examples:
      jumpseat logout
      jumpseat logout work
    """
    async with daemon(daemon_command) as client:
        before = await client.auth_status(provider=provider or DEFAULT_PROVIDER)
        # Sign out even if nobody is signed in, because a damaged file may still contain a token.
        status = await client.sign_out(provider=provider)
    nobody = before.get("state") == status.get("state") == "signed_out"
    if as_json:
        print_json(status)
    elif nobody:
        print_failure(f"No account is signed in to {place_of(status)}.")
    elif status.get("state") != "signed_out" and status.get("message"):
        say(clean_line(str(status["message"])))
    elif status.get("state") == "not_required":
        say(f"{status.get('provider')} does not need a sign-in.")
    elif status.get("state") in USABLE:
        # The daemon still finds another program's sign-in, which must not be removed here.
        source = clean_line(str(status.get("source")))
        say(f"{account_of(status)} is still used, from {source}, which `jumpseat logout` does not change.")
    else:
        say(f"Signed out of {status.get('provider')}.")
    return FAILED if nobody else OK


@click.command("accept-terms")
@click.argument("model", shell_complete=complete_model_with_terms)
@click.option("-y", "--yes", is_flag=True, help="Show the terms and accept them without asking.")
@daemon_options
@json_option
@run_async
async def accept_terms(model: str, yes: bool, daemon_command: list[str], as_json: bool) -> int:
    """Accept a model's terms for your account.

    Shows the terms and asks whether you accept them. Without a terminal, --yes is required.

    \b
    Examples:
      jumpseat accept-terms copilot:claude-opus-4.7
      jumpseat accept-terms --yes copilot:claude-opus-4.7
    """
    provider, colon, name = model.partition(":")
    if not colon:
        raise click.UsageError(f"Name the provider too, as in copilot:{model}.")
    async with daemon(daemon_command) as client:
        rows = (await client.list_models(provider=provider, refresh=True))["models"]
        named = (each for each in rows if name in (each.get("model"), each.get("name")))
        row: dict[str, Any] = next(named, {})
        if row and row.get("policy") in (None, "enabled"):
            if as_json:
                print_json(row)
            else:
                say(f"{clean_line(str(row['id']))} is already enabled.")
            return OK
        if row.get("policyTerms"):
            say(clean(str(row["policyTerms"])))
        # If there is no such model, do not ask: the request below reports that.
        if not yes and row:
            if not sys.stdin.isatty():
                print_failure(
                    "Without a terminal, jumpseat cannot ask whether you accept the terms.",
                    "Add --yes if you accept the terms above.",
                )
                return USAGE
            code = await confirm("Do you accept these terms?")
            if code != OK:
                return code
        answer = await client.request("models/setPolicy", {"model": model, "state": "enabled"})
    if as_json:
        print_json(answer["model"])
    else:
        say(f"{clean_line(str(answer['model']['id']))} is now enabled.")
    return OK
