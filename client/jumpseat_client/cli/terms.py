"""`jumpseat accept-terms`: what a model asks of its users, and a person's yes to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from jumpseat_client.cli.chat import daemon
from jumpseat_client.cli.failures import FAILED, OK, USAGE, print_failure, print_json, say
from jumpseat_client.cli.terminal import clean, clean_line


async def accept(model: str, *, yes: bool, config: Path | None, as_json: bool) -> int:
    """Show the terms, ask, and accept them.

    Raises:
        ClientError: there is no such model, it has no terms, or it is still not enabled.
    """
    async with daemon(config) as client:
        provider, colon, name = model.partition(":")
        if not colon:
            raise click.UsageError(f"Name the provider too: copilot:{model}")
        listed = await client.list_models(provider=provider, refresh=True)
        row: dict[str, Any] | None = next(
            (each for each in listed["models"] if name in (each.get("model"), each.get("name"))), None
        )
        if row is not None and row.get("policy") in (None, "enabled"):
            if as_json:
                print_json(row)
            else:
                say(f"{row['id']} can be used already.")
            return OK
        if row is not None and row.get("policyTerms"):
            say(clean(str(row["policyTerms"])))
        if not yes:
            if not sys.stdin.isatty():
                print_failure("Nobody is here to ask.", "Add --yes if you accept the terms above.")
                return USAGE
            if not click.confirm("Do you accept these terms?", err=True):
                return FAILED
        answer = await client.request("models/setPolicy", {"model": model, "state": "enabled"})
    if as_json:
        print_json(answer["model"])
    else:
        say(f"{clean_line(str(answer['model']['id']))} can be used now.")
    return OK
