"""The commands for an account: sign in, sign out, accept a model's terms."""

from __future__ import annotations

import sys

import click

from jumpseat_cli.command_line.completion import complete_model_with_terms, complete_provider_with_sign_in
from jumpseat_cli.command_line.options import daemon_options, json_option, run_work


@click.command()
@click.argument("provider", required=False, shell_complete=complete_provider_with_sign_in)
@click.option(
    "--browser/--no-browser", default=None, help="Open the page in a browser; by default only on a terminal."
)
@click.option("--again", is_flag=True, help="Sign in although an account is signed in.")
@daemon_options
@json_option
def login(
    provider: str | None, browser: bool | None, again: bool, daemon_command: list[str], as_json: bool
) -> int:
    """Sign in to GitHub Copilot, or to PROVIDER, with a code.

    Shows a code and the address of a page, and waits until you have entered the code there. The token is
    stored in the keyring, or in a file that only you can read. Running editors use it at once. GitHub's
    language server stores its own sign-in.

    If an account is signed in already, shows which one; on a terminal, asks whether to sign in again.

    \b
    Examples:
      jumpseat login
      jumpseat login work
      jumpseat login --again
      jumpseat login --no-browser --json
    """
    from jumpseat_cli.daemon.sign_in import log_in

    open_browser = sys.stderr.isatty() if browser is None else browser
    work = log_in(
        provider=provider,
        browser=open_browser,
        again=again,
        asks=sys.stdin.isatty() and not as_json,
        daemon_command=daemon_command,
        as_json=as_json,
    )
    return run_work(work, as_json=as_json)


@click.command()
@click.argument("provider", required=False, shell_complete=complete_provider_with_sign_in)
@daemon_options
@json_option
def logout(provider: str | None, daemon_command: list[str], as_json: bool) -> int:
    """Sign out of GitHub Copilot, or of PROVIDER; running editors are signed out at once.

    If no account is signed in, the exit code is 1.

    \b
    Examples:
      jumpseat logout
      jumpseat logout work
    """
    from jumpseat_cli.daemon.sign_in import log_out

    return run_work(
        log_out(provider=provider, daemon_command=daemon_command, as_json=as_json), as_json=as_json
    )


@click.command("accept-terms")
@click.argument("model", shell_complete=complete_model_with_terms)
@click.option("-y", "--yes", is_flag=True, help="Show the terms and accept them without a question.")
@daemon_options
@json_option
def accept_terms(model: str, yes: bool, daemon_command: list[str], as_json: bool) -> int:
    """Accept the terms of a model, for your account.

    Shows the terms and asks. Without a terminal --yes is required.

    \b
    Examples:
      jumpseat accept-terms copilot:claude-opus-4.7
      jumpseat accept-terms --yes copilot:claude-opus-4.7
    """
    from jumpseat_cli.commands.terms import accept

    return accept(model, yes=yes, daemon_command=daemon_command, as_json=as_json)
