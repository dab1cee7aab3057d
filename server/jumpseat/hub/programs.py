"""Runs `serve` and `attach` for editors without importing the command line, which would delay them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jumpseat.system.paths import NoHomeError


def run_program(argv: Sequence[str]) -> None:
    """Run `serve` or `attach` and exit with its code. Return if the arguments name neither."""
    try:
        match argv:
            case ["attach", *arguments]:
                from jumpseat.hub.attach import main as attach

                sys.exit(attach(arguments))
            case ["serve", *arguments]:
                from jumpseat.rpc.serve import main as serve

                sys.exit(serve(arguments))
    except NoHomeError as error:
        sys.exit(f"jumpseat: {error}")
