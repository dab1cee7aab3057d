"""Shared by all commands: options, help settings, and running a coroutine to its exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click

from jumpseat_client.cli.failures import FAILED, INTERRUPTED, print_client_error
from jumpseat_client.errors import ClientError

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

config_option = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    metavar="FILE",
    help="Use this configuration file instead of the default one.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def run_work(work: Coroutine[Any, Any, int], *, as_json: bool) -> int:
    """Run a command's coroutine; turn its failures into messages and exit codes."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ClientError as error:
        print_client_error(error, as_json=as_json)
        return FAILED
