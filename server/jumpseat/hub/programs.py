"""Runs `serve`, `attach` and `acp`. Does not import the command line, so that editors wait less."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jumpseat.system.paths import NoHomeError


def run_program(argv: Sequence[str]) -> None:
    """Run `serve`, `attach` or `acp` and exit with its code. Return if the arguments name none of them."""
    try:
        match argv:
            case ["attach", *arguments]:
                from jumpseat.hub.attach import main as attach

                sys.exit(attach(arguments))
            # With `--login`, the command line signs in on the terminal instead.
            case ["acp", *arguments] if "--login" not in arguments:
                from jumpseat.hub.attach import main as attach

                sys.exit(attach(arguments, "acp"))
            case ["serve", *arguments]:
                from jumpseat.rpc.serve import main as serve

                sys.exit(serve(arguments))
    except NoHomeError as error:
        sys.exit(f"jumpseat: {error}")
