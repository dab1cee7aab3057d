"""The sign-in of `gh`, GitHub's own command line, read by running `gh`.

Tokens never appear in an argument list, and no shell is involved.
"""

from __future__ import annotations

import re
from pathlib import Path

from jumpseat.system.commands import CommandError, existing_or_root, run
from jumpseat.system.environment import Environment
from jumpseat.system.secrets import Secret, register_secret
from jumpseat.system.threads import run_blocking

GH_SECONDS = 5.0
"""The time limit for `gh`, which may open a locked keyring that waits for the user's password."""

_INHERITED = frozenset(
    {"PATH", "PATHEXT", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "TEMP",
     "TMP", "TMPDIR", "LANG", "LC_ALL", "USER", "LOGNAME", "USERNAME", "GH_CONFIG_DIR", "XDG_CONFIG_HOME",
     "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
     "DISPLAY", "WAYLAND_DISPLAY"}
)  # fmt: skip
"""The variables that `gh` needs to find its files and the keyring.

`GH_TOKEN` is not among them, because `gh` would return it instead of the token that it stores.
"""

_TOKEN = re.compile(r"[\x21-\x7e]{8,4096}")


async def read_gh_token(host: str, environment: Environment, *, seconds: float = GH_SECONDS) -> Secret | None:
    """Return the token that `gh` stores for a host; None if `gh` is missing, signed out or too slow.

    Args:
        host: `github.com`, the host of a tenant, or the host of a GitHub Enterprise Server.
        environment: the client's environment variables.
        seconds: the time limit for finding `gh`, and again for running it.
    """
    if not environment.get("PATH"):
        return None
    env = {name: value for name, value in environment.variables.items() if name.upper() in _INHERITED}
    env |= {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}

    def locate() -> tuple[str | None, Path]:
        return environment.which("gh"), existing_or_root(environment.directory)

    try:
        program, directory = await run_blocking(locate, within=seconds)
        if program is None:
            return None
        argv = [program, "auth", "token", "--hostname", host]
        umask = environment.umask
        text = await run(argv, env=env, directory=directory, umask=umask, seconds=seconds)
    except (CommandError, TimeoutError):
        return None
    return register_secret(text) if _TOKEN.fullmatch(text) else None
