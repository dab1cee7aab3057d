"""The sign-in of GitHub's own command line, `gh`, read by running `gh`.

No token is in an argument list, and there is no shell.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping

from jumpseat.system.bounded import in_time
from jumpseat.system.commands import CommandError, run
from jumpseat.system.secrets import Secret, hidden

GH_SECONDS = 5.0
"""`gh` may open a locked keyring, which waits for the user's password."""

_INHERITED = frozenset(
    {"PATH", "PATHEXT", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "TEMP",
     "TMP", "TMPDIR", "LANG", "LC_ALL", "USER", "LOGNAME", "USERNAME", "GH_CONFIG_DIR", "XDG_CONFIG_HOME",
     "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
     "DISPLAY", "WAYLAND_DISPLAY"}
)  # fmt: skip
"""What `gh` needs to find its files and the keyring. No keys of providers, and no `GH_TOKEN`: `gh` would
return it instead of its own token."""

_TOKEN = re.compile(r"[\x21-\x7e]{8,4096}")


async def gh_token(host: str, environ: Mapping[str, str], *, seconds: float = GH_SECONDS) -> Secret | None:
    """The token that `gh` keeps for a host; None where there is no `gh`, no sign-in, or no answer in time.

    Args:
        host: `github.com`, a tenant or a server.
        environ: the environment to look for `gh` in and to run it with.
        seconds: how long it may take.
    """
    path = environ.get("PATH")
    if not path:
        return None
    env = {name: value for name, value in environ.items() if name.upper() in _INHERITED}
    env |= {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
    try:
        program = await in_time(lambda: shutil.which("gh", path=path), seconds, "gh")
        if program is None:
            return None
        text = await run([program, "auth", "token", "--hostname", host], env=env, seconds=seconds)
    except (CommandError, TimeoutError):
        return None
    return hidden(text) if _TOKEN.fullmatch(text) else None
