"""`python:package.module:function`: the return value of a Python function."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource, run_in_thread


async def _read(place: str, table: ProviderConfig) -> str:
    return await run_in_thread(lambda: _call(place), f"{place}()")


def _call(place: str) -> str:
    module, _, name = place.partition(":")
    if not (module and name):
        raise SourceError(
            "that is not of the form python:package.module:function", "Name the module and the function."
        )
    try:
        function: Any = import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError, ValueError, TypeError):
        raise SourceError(
            f"{module} has no {name} that can be imported",
            "Install the package in the daemon's Python environment, and check the function's name.",
        ) from None
    except BaseException as error:
        # Omit the text of the exception, which may contain the value.
        raise SourceError(f"importing {module} raised {type(error).__name__}", "Fix the module.") from None
    try:
        value = function()
    except BaseException as error:
        raise SourceError(f"{name}() raised {type(error).__name__}", "Fix the function.") from None
    if not isinstance(value, str):
        # Close a coroutine, which would otherwise warn that it was never awaited.
        if hasattr(value, "close"):
            value.close()
        raise SourceError(f"{name}() did not return str but {type(value).__name__}", "Return a str.")
    return value.strip()


def _find_fault(place: str, table: ProviderConfig) -> str | None:
    module, _, name = place.partition(":")
    return None if module and name else "is not of the form python:package.module:function"


FUNCTION = ValueSource(prefix="python:", read=_read, find_fault=_find_fault, costly=True)
