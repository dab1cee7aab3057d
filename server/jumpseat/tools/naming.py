"""The names under which a model sees the tools of several servers."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_NAME = 64
"""The longest name of a tool that all providers accept."""

_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def name_tools(tools: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return pairs of a server and a tool by the names for the model, `server__tool`, sorted by name.

    Characters that providers do not accept are replaced by underscores, long names are cut, and names that
    are then equal receive a numeric suffix.
    """
    named: dict[str, tuple[str, str]] = {}
    for server, tool in sorted(set(tools)):
        base = _NOT_ALLOWED.sub("_", f"{server}__{tool}")[:MAX_NAME]
        name, number = base, 1
        while name in named:
            number += 1
            suffix = f"_{number}"
            name = base[: MAX_NAME - len(suffix)] + suffix
        named[name] = (server, tool)
    return dict(sorted(named.items()))
