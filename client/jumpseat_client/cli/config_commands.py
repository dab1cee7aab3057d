"""The commands of `jumpseat config`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jumpseat_client.cli.failures import FAILED, OK, print_json, say
from jumpseat_client.cli.options import HELP, config_option, json_option, run_work
from jumpseat_client.cli.terminal import clean

if TYPE_CHECKING:
    from jumpseat.providers.checkup import Checkup


@click.group("config", no_args_is_help=True, context_settings=HELP)
def config_group() -> None:
    """The configuration file: where it is, and what is wrong in it.

    \b
    examples:
      jumpseat config check
      $EDITOR "$(jumpseat config path)"
    """


@config_group.command()
def path() -> int:
    """Print where the configuration file is; it need not exist yet.

    \b
    examples:
      jumpseat config path
    """
    from jumpseat.system.paths import config_file

    print(config_file())
    return OK


@config_group.command()
@config_option
@json_option
def check(config: Path | None, as_json: bool) -> int:
    """Say everything that is wrong in the configuration file, a line for each.

    A program or a model that its providers need and that is not on this machine is told too. Nothing is sent,
    and no credential is read: whether a key is right is for 'jumpseat status'.

    \b
    examples:
      jumpseat config check
      jumpseat config check --config other.toml
      jumpseat config check --json | jq -r '.errors[].message'

    \b
    exit codes: 0 no errors, perhaps warnings; 1 errors; 2 wrong usage.
    """
    return run_work(_check(config, as_json=as_json), as_json=as_json)


async def _check(config: Path | None, *, as_json: bool) -> int:
    from jumpseat.providers.checkup import check_file

    found = await check_file(config)
    if as_json:
        _print_as_json(found)
    else:
        for fault in found.errors:
            print(clean(f"error: {fault}"))
        for fault in found.warnings:
            print(clean(f"warning: {fault}"))
        if not (found.errors or found.warnings):
            say(f"{found.file}: all is well." if found.exists else f"{found.file} does not exist yet.")
    return FAILED if found.errors else OK


def _print_as_json(found: Checkup) -> None:
    document: dict[str, object] = {"file": str(found.file), "exists": found.exists}
    for name, faults in (("errors", found.errors), ("warnings", found.warnings)):
        rows = [{**asdict(fault), "message": str(fault)} for fault in faults]
        document[name] = [{key: row[key] for key in ("line", "key", "message")} for row in rows]
    print_json(document)
