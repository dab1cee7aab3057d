"""`jumpseat accept-terms`: shows the terms of a model and accepts them for the user."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from jumpseat_cli.chat.answering import daemon
from jumpseat_cli.command_line.options import run_work
from jumpseat_cli.terminal.failures import OK, USAGE, print_failure, print_json, say
from jumpseat_cli.terminal.questions import confirm
from jumpseat_cli.terminal.text import clean, clean_line


def accept(model: str, *, yes: bool, daemon_command: Sequence[str], as_json: bool) -> int:
    """Show the terms, ask, and accept them; return the exit code."""
    provider, colon, name = model.partition(":")
    if not colon:
        raise click.UsageError(f"Name the provider too: copilot:{model}")
    rows: list[dict[str, Any]] = []
    code = run_work(_look_up(rows, provider, name, daemon_command), as_json=as_json)
    if code != OK:
        return code
    row = rows[0] if rows else {}
    if row and row.get("policy") in (None, "enabled"):
        if as_json:
            print_json(row)
        else:
            say(f"{clean_line(str(row['id']))} is already enabled.")
        return OK
    if row.get("policyTerms"):
        say(clean(str(row["policyTerms"])))
    if not yes and row:
        if not sys.stdin.isatty():
            print_failure(
                "The terms cannot be confirmed without a terminal.",
                "Add --yes if you accept the terms above.",
            )
            return USAGE
        code = run_work(confirm("Do you accept these terms?"), as_json=as_json)
        if code != OK:
            return code
    return run_work(_accept(model, daemon_command, as_json=as_json), as_json=as_json)


async def _look_up(
    rows: list[dict[str, Any]], provider: str, name: str, daemon_command: Sequence[str]
) -> int:
    async with daemon(daemon_command) as client:
        listed = await client.list_models(provider=provider, refresh=True)
    rows += [each for each in listed["models"] if name in (each.get("model"), each.get("name"))]
    return OK


async def _accept(model: str, daemon_command: Sequence[str], *, as_json: bool) -> int:
    async with daemon(daemon_command) as client:
        answer = await client.request("models/setPolicy", {"model": model, "state": "enabled"})
    if as_json:
        print_json(answer["model"])
    else:
        say(f"{clean_line(str(answer['model']['id']))} is enabled now.")
    return OK
