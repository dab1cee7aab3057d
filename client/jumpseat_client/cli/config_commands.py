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
    """Find and check the configuration file.

    \b
    examples:
      jumpseat config check
      $EDITOR "$(jumpseat config path)"
    """


@config_group.command()
def path() -> int:
    """Print the path of the configuration file; it need not exist yet.

    \b
    examples:
      jumpseat config path
    """
    from jumpseat.system.paths import places_of_process

    print(places_of_process().config_file)
    return OK


@config_group.command()
@config_option
@json_option
def check(config: Path | None, as_json: bool) -> int:
    """Report every mistake in the configuration file, one per line.

    Also reports programs and models that its providers need and that are not on this machine. Sends no
    requests and reads no credentials: 'jumpseat status' checks those.

    \b
    examples:
      jumpseat config check
      jumpseat config check --config other.toml
      jumpseat config check --json | jq -r '.errors[].message'

    \b
    exit codes: 0 no errors (warnings are possible); 1 errors; 2 wrong usage.
    """
    return run_work(_check(config, as_json=as_json), as_json=as_json)


async def _check(config: Path | None, *, as_json: bool) -> int:
    from jumpseat.providers.checkup import check_file
    from jumpseat.system.environment import environment_of_process

    checkup = await check_file(config, environment_of_process())
    if as_json:
        _print_as_json(checkup)
    else:
        for fault in checkup.errors:
            print(clean(f"error: {fault}"))
        for fault in checkup.warnings:
            print(clean(f"warning: {fault}"))
        if not (checkup.errors or checkup.warnings):
            say(f"{checkup.file}: no mistakes." if checkup.exists else f"{checkup.file} does not exist yet.")
    return FAILED if checkup.errors else OK


def _print_as_json(checkup: Checkup) -> None:
    document: dict[str, object] = {"file": str(checkup.file), "exists": checkup.exists}
    for name, faults in (("errors", checkup.errors), ("warnings", checkup.warnings)):
        rows = [{**asdict(fault), "message": str(fault)} for fault in faults]
        document[name] = [{key: row[key] for key in ("line", "key", "message")} for row in rows]
    print_json(document)
