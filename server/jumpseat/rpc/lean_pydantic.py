"""Keeps pydantic from searching for pydantic plug-ins, and from the imports of that search."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_LOADER = "pydantic.plugin._loader"


class _NoPlugins(ModuleType):
    """Replaces pydantic's loader until another name of it is used."""

    @staticmethod
    def get_plugins() -> tuple[()]:
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(_LOADER, None)
        return getattr(import_module(_LOADER), name)


def disable_plugin_search() -> None:
    """Disable the search, unless pydantic has already searched. The daemon uses no pydantic plug-ins."""
    # The variable alone is not enough: pydantic still imports `importlib.metadata` when it builds its first
    # model, which takes a tenth of the time of all other imports.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if os.environ["PYDANTIC_DISABLE_PLUGINS"] == "__all__":
        sys.modules.setdefault(_LOADER, _NoPlugins(_LOADER))
