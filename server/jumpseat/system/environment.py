"""What surrounds a client's process: environment variables, working directory, jumpseat's directories.

One daemon serves clients that were started in different places. Code below `rpc/` therefore reads this value,
never `os.environ` or the current directory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jumpseat.system.paths import Places, places_of_process
from jumpseat.system.secrets import SHORTEST_HIDDEN, KnownSecrets, Secret
from jumpseat.system.shared import Shared

_ROOT = Path(Path(sys.prefix).anchor)

_NULL = Path(rf"\\.\{os.devnull}" if sys.platform == "win32" else os.devnull)
_NOWHERE = Places(_NULL / "config.toml", _NULL / "state", _NULL / "data")
"""Below the null device no file can be read or created, by any user."""


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """The surroundings of one client. The variables may hold credentials, so `repr` omits them."""

    variables: Mapping[str, str] = field(repr=False)
    directory: Path
    """The working directory, absolute."""

    places: Places
    shared: Shared = field(default_factory=Shared, repr=False)
    """What this client has in common with other clients of the same daemon."""

    umask: int = -1
    """For files that the user's commands create; -1 for that of this process."""

    kept_back: set[str] = field(default_factory=set)
    """Names of variables that no command gets, because they hold providers' credentials. It only grows."""

    secrets: KnownSecrets = field(default_factory=KnownSecrets, repr=False)
    """The credentials of this client. They are redacted in the conversations that it keeps."""

    def get(self, name: str, default: str = "") -> str:
        """The value of an environment variable."""
        # Windows ignores the case of names; `os.environ` has them in upper case there.
        return self.variables.get(name.upper() if sys.platform == "win32" else name, default)

    def keep_back(self, secret: Secret, *, short_lived: bool = False) -> None:
        """Neither commands nor kept conversations get this credential from now on.

        Args:
            secret: the credential.
            short_lived: as in `KnownSecrets.add`.
        """
        self.secrets.add(secret, short_lived=short_lived)
        value = secret.reveal()
        if len(value) >= SHORTEST_HIDDEN:
            self.kept_back.update(name for name, each in self.variables.items() if each.strip() == value)

    def which(self, program: str) -> str | None:
        """The absolute path of a program on the `PATH`.

        Relative directories on the `PATH` are skipped.
        """
        import shutil  # Deferred: it imports the modules of every kind of archive.

        directories = self.get("PATH", os.defpath).split(os.pathsep)
        # A relative directory may be in a workspace of another author.
        absolute = [each for each in directories if Path(each).is_absolute()]
        # An empty path would make `which` read the process's.
        return shutil.which(program, path=os.pathsep.join(absolute)) if absolute else None

    def expanded(self, path: str | Path) -> Path:
        """A path that the user wrote, with `~` as the home directory; it may still be relative.

        `~name` is not expanded, because it depends on the machine's accounts and not on the client.
        """
        text = str(path)
        home = self.get("USERPROFILE" if sys.platform == "win32" else "HOME")
        if home and (text == "~" or text.startswith(("~/", "~\\"))):
            return Path(home, text[2:])
        return Path(path)

    def absolute(self, path: str | Path) -> Path:
        """The same, made absolute: a relative path starts at the working directory."""
        return self.directory / self.expanded(path)


def environment_of_process() -> Environment:
    """That of this process. Called when a process begins to serve, never for a single client."""
    try:
        directory = Path.cwd()
    except OSError:  # It was removed after this process was started in it.
        directory = _ROOT
    return Environment(dict(os.environ), directory, places_of_process())


def empty_environment() -> Environment:
    """No variables, and directories in which nothing can exist: the default of a `ProviderConfig`."""
    return Environment({}, _ROOT, _NOWHERE)
