"""Uses state files from code that runs on the event loop, without blocking the loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from jumpseat.chat import ConfigError
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking

P = ParamSpec("P")
T = TypeVar("T")


async def use_state_file(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a worker thread and return its result. The function reads or writes state files.

    Raises:
        ConfigError: a file cannot be used.
    """
    try:
        return await run_blocking(partial(function, *args, **kwargs))
    except StateError as error:
        raise ConfigError(error.message, hint=error.hint) from None
