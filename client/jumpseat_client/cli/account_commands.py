"""The commands of an account: signing in and out, and accepting a model's terms."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from jumpseat_client.cli.options import config_option, json_option, run_work


@click.command()
@click.option("--provider", metavar="ID", help="Whom to sign in to; GitHub Copilot if not named.")
@click.option("--browser/--no-browser", default=None, help="Open the page; by default on a terminal only.")
@config_option
@json_option
def login(provider: str | None, browser: bool | None, config: Path | None, as_json: bool) -> int:
    """Sign in to GitHub Copilot with a code.

    Shows a code and a page, and waits until you have entered the one on the other. The sign-in is kept in the
    keyring, or in a file that only you can read, and editors that are running notice it at once. GitHub's
    language server keeps its own.

    \b
    examples:
      jumpseat login
      jumpseat login --provider work
      jumpseat login --no-browser --json
    """
    from jumpseat_client.cli.login import log_in

    wanted = sys.stderr.isatty() if browser is None else browser
    work = log_in(provider=provider, browser=wanted, config=config, as_json=as_json)
    return run_work(work, as_json=as_json)


@click.command()
@click.option("--provider", metavar="ID", help="Whom to sign out of; GitHub Copilot if not named.")
@config_option
@json_option
def logout(provider: str | None, config: Path | None, as_json: bool) -> int:
    """Forget a sign-in; editors that are running notice it at once.

    \b
    examples:
      jumpseat logout
      jumpseat logout --provider work
    """
    from jumpseat_client.cli.login import log_out

    return run_work(log_out(provider=provider, config=config, as_json=as_json), as_json=as_json)


@click.command("accept-terms")
@click.argument("model")
@click.option("-y", "--yes", is_flag=True, help="Accept without being asked; the terms are shown.")
@config_option
@json_option
def accept_terms(model: str, yes: bool, config: Path | None, as_json: bool) -> int:
    """Accept the terms of a model, for your account.

    Shows the terms and asks. Nobody but you accepts them: without a terminal, --yes has to say so.

    \b
    examples:
      jumpseat accept-terms copilot:claude-opus-4.7
      jumpseat accept-terms --yes copilot:claude-opus-4.7
    """
    from jumpseat_client.cli.terms import accept

    return accept(model, yes=yes, config=config, as_json=as_json)
