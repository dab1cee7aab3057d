"""The options of commands that send a text to a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_file, complete_model

max_tokens_option = click.option(
    "--max-tokens", type=click.IntRange(min=1), metavar="N", help="The limit for the answer, in tokens."
)


def model_option(help_text: str) -> Callable[[Any], Any]:
    """Return the option for the model."""
    return click.option("-m", "--model", metavar="NAME", shell_complete=complete_model, help=help_text)


def files_option(help_text: str) -> Callable[[Any], Any]:
    """Return the option for files and pages, which is passed as `files`."""
    return click.option(
        "-f",
        "--file",
        "files",
        multiple=True,
        metavar="PATH[:A-B]",
        shell_complete=complete_file,
        help=help_text,
    )
