"""The sign-in of GitHub's own command line, `gh`, asked from `gh` itself.

Blocks for at most a few seconds; its caller is on a thread. No token is in anybody's argument list, and
nothing runs through a shell.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping

from jumpseat.system.secrets import Secret, hidden

GH_SECONDS = 5.0
"""`gh` may ask a locked keyring, and then waits for a person who may not be there."""

_INHERITED = frozenset(
    {"PATH", "PATHEXT", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "TEMP",
     "TMP", "TMPDIR", "LANG", "LC_ALL", "USER", "LOGNAME", "USERNAME", "GH_CONFIG_DIR", "XDG_CONFIG_HOME",
     "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
     "DISPLAY", "WAYLAND_DISPLAY"}
)  # fmt: skip
"""What `gh` needs to find its files and the keyring. No keys of providers, and no `GH_TOKEN`: `gh` would
rather repeat that than tell its own, and it has its own place in the order."""

_TOKEN = re.compile(r"[\x21-\x7e]{8,4096}")


def gh_token(host: str, environ: Mapping[str, str], *, seconds: float = GH_SECONDS) -> Secret | None:
    """The token that `gh` keeps for a host; None where there is no `gh`, no sign-in, or no answer in time.

    Args:
        host: `github.com`, a tenant or a server.
        environ: the environment to look for `gh` in and to run it with.
        seconds: how long it may take.
    """
    path = environ.get("PATH")
    command = shutil.which("gh", path=path) if path else None
    if command is None:
        return None
    env = {name: value for name, value in environ.items() if name.upper() in _INHERITED}
    env |= {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
    try:
        process = subprocess.Popen(  # noqa: S603 - a command found on the user's own path, no shell
            [command, "auth", "token", "--hostname", host],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            # A group of its own, so that what `gh` has started ends with it; no window on Windows.
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, ValueError):
        return None
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return None
    text = output.decode("utf-8", "replace").strip()
    if process.returncode != 0 or not _TOKEN.fullmatch(text):
        return None
    return hidden(text)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End `gh` and what it has started; a child that kept the pipe open would hold us for ever."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, 9)
    if process.stdout is not None:
        process.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
