"""Prints the failures of commands that work without the daemon."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from jumpseat.chat import ChatError
from jumpseat_cli.terminal.failures import print_failure

P = ParamSpec("P")


def report_failures(work: Callable[P, int]) -> Callable[P, int]:
    """Wrap a command so that it prints why it failed and returns the exit code."""

    @functools.wraps(work)
    def report(*arguments: P.args, **options: P.kwargs) -> int:
        try:
            return work(*arguments, **options)
        except ChatError as error:
            return print_failure(error.message, error.hint)

    return report
