"""Keeps pydantic from looking for plug-ins of its own, and from what it imports to find them.

The daemon uses none. pydantic has a switch for that, but imports `importlib.metadata` all the same as soon as
it builds a model, and that takes as long as a tenth of all other imports.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_LOADER = "pydantic.plugin._loader"


class _NoPlugins(ModuleType):
    """Stands in for pydantic's loader; should that have other names one day, it gives way."""

    @staticmethod
    def get_plugins() -> tuple[()]:
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(_LOADER, None)
        return getattr(import_module(_LOADER), name)


def look_for_no_plugins() -> None:
    """Do so from here on, unless pydantic has looked already."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if os.environ["PYDANTIC_DISABLE_PLUGINS"] == "__all__":
        sys.modules.setdefault(_LOADER, _NoPlugins(_LOADER))
