"""`python:package.module:function`: what a function returns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource, on_a_thread


async def _read(place: str, table: ProviderConfig) -> str:
    return await on_a_thread(lambda: _call(place), f"{place}()")


def _call(place: str) -> str:
    module, _, name = place.partition(":")
    if not (module and name):
        raise SourceError("that is not of the form python:package.module:function", "Name both.")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError, TypeError):
        raise SourceError(
            f"{module} has no {name} that can be imported",
            "Install the package where the daemon is; the name is that of a function.",
        ) from None
    except BaseException as error:
        # The text of a foreign exception may hold the value.
        raise SourceError(f"importing {module} raised {type(error).__name__}", "Fix the module.") from None
    try:
        value = found()
    except BaseException as error:
        raise SourceError(f"{name}() raised {type(error).__name__}", "Fix the function.") from None
    if not isinstance(value, str):
        if hasattr(value, "close"):
            value.close()  # A coroutine warns if it is never awaited.
        raise SourceError(f"{name}() gave no str but {type(value).__name__}", "Have it return a str.")
    return value.strip()


def _fault(place: str, table: ProviderConfig) -> str | None:
    module, _, name = place.partition(":")
    return None if module and name else "is not of the form python:package.module:function"


FUNCTION = ValueSource(prefix="python:", read=_read, fault=_fault, costly=True)
