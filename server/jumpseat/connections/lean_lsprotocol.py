"""Imports `lsprotocol.types` without building the attrs classes that the daemon does not use.

pygls imports the module with all its 550 classes, and compiling the classes' methods takes about half of the
daemon's import time. Only the classes of JSON-RPC errors are built here. The others stay undecorated, because
the daemon does not need them: it validates `initialize` itself and does not track documents.

Call `import_lean` before anything imports pygls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import attrs

TRIED_VERSION = "2025.0.0"
"""The version of lsprotocol that this was tested with. Any other version is imported as usual."""

BUILT = frozenset({"ResponseError", "ResponseErrorMessage"})
"""The classes that the JSON-RPC layer of pygls instantiates."""


def import_lean() -> bool:
    """Import `lsprotocol.types`. Return False if it was imported before or has another version."""
    if "lsprotocol.types" in sys.modules or version("lsprotocol") != TRIED_VERSION:
        return False
    build = attrs.define

    def define(cls: type[Any] | None = None, **options: Any) -> Any:
        if cls is None:
            return lambda decorated: define(decorated, **options)
        if cls.__name__ not in BUILT:
            return cls
        for name, value in list(vars(cls).items()):
            # Create the class's fields, which are partials until now.
            if isinstance(value, partial):
                setattr(cls, name, value())
        return build(cls, **options)

    # The fields of a class that is not built become partials that are never called.
    _import_with(define, partial(partial, attrs.field))
    return True


def _import_with(define: Callable[..., Any], field: Callable[..., Any]) -> None:
    originals = attrs.define, attrs.field
    attrs.define, attrs.field = define, field
    try:
        import lsprotocol.types  # noqa: F401 - the import is the purpose
    finally:
        attrs.define, attrs.field = originals
