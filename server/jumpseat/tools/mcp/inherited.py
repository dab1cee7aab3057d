"""Selects the client's environment variables that the program of an MCP server receives."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jumpseat.system.environment import Environment

NAMES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR"}
    | {f"{kind}_PROXY" for kind in ("HTTP", "HTTPS", "ALL", "NO")}
)
PREFIXES = ("LC_", "XDG_")

NAMES_OF_WINDOWS = frozenset(
    {
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATHEXT",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    }
)
"""Variables without which programs do not start on Windows."""


def select_variables(environment: Environment, further: Sequence[str]) -> dict[str, str]:
    """Return the client's variables for a program: the usual ones, and further ones by name."""
    usual = NAMES | NAMES_OF_WINDOWS if sys.platform == "win32" else NAMES
    names = {name.upper() for name in further} if sys.platform == "win32" else set(further)
    return {
        name: value
        for name, value in environment.variables.items()
        if name in names or _is_proxy_or_usual(name, usual) or name.startswith(PREFIXES)
    }


def _is_proxy_or_usual(name: str, usual: frozenset[str]) -> bool:
    # The names of proxy variables are often in lower case.
    return name in usual or (name.endswith("_proxy") and name.upper() in usual)
