"""The names under which a model sees the tools of several servers."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_NAME = 64
"""The length of the longest tool name that all providers accept."""

_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def name_tools(tools: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Give each pair of a server and a tool a name for the model, `server__tool`.

    Characters that providers do not accept are replaced by underscores, and long names are cut. If names are
    then equal, all except the first receive a numeric suffix.

    Returns:
        The pairs, by the names for the model, in the order of these names.
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
