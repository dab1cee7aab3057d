"""The environment of a client's process: variables, working directory, jumpseat's directories.

One daemon serves clients with different environments. So code in the layers below `rpc/` and `acp/` uses an
`Environment` for everything that depends on the client, and never `os.environ` or the current directory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jumpseat.system.paths import Places, places_of_process
from jumpseat.system.secrets import SHORTEST_REDACTED, KnownSecrets, Secret
from jumpseat.system.shared import Shared

_ROOT = Path(Path(sys.prefix).anchor)

_NULL = Path(rf"\\.\{os.devnull}" if sys.platform == "win32" else os.devnull)
_NOWHERE = Places(_NULL / "config.toml", _NULL / "state", _NULL / "data")
"""Paths below the null device, where no user can read or create files."""


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """The environment of one client. The variables may contain credentials, so `repr` omits them."""

    variables: Mapping[str, str] = field(repr=False)
    directory: Path
    """The absolute path of the working directory."""

    places: Places
    shared: Shared = field(default_factory=Shared, repr=False)
    """The values that this client shares with other clients of the same daemon."""

    umask: int = -1
    """The umask for files that the user's commands create; -1 for the umask of this process."""

    withheld: set[str] = field(default_factory=set)
    """Names of variables with providers' credentials. Commands do not receive these variables.

    Names are added, but never removed.
    """

    secrets: KnownSecrets = field(default_factory=KnownSecrets, repr=False)
    """The credentials of this client, to redact in its stored conversations."""

    def get(self, name: str, default: str = "") -> str:
        """Return the value of an environment variable."""
        # Windows ignores the case of names, and `os.environ` has upper-case names there.
        return self.variables.get(name.upper() if sys.platform == "win32" else name, default)

    def withhold(self, secret: Secret, *, short_lived: bool = False) -> None:
        """Withhold a credential from commands and stored conversations from now on.

        Args:
            secret: the credential.
            short_lived: see `KnownSecrets.add`.
        """
        self.secrets.add(secret, short_lived=short_lived)
        value = secret.reveal()
        if len(value) >= SHORTEST_REDACTED:
            self.withheld.update(name for name, each in self.variables.items() if each.strip() == value)

    def which(self, program: str, path: str | None = None) -> str | None:
        """Return the absolute path of a program on the `PATH`, or on another list of directories.

        Relative directories are skipped.
        """
        import shutil  # Imported late, because `shutil` imports modules for every archive format.

        directories = (self.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
        # A relative directory may be in a workspace written by someone else.
        absolute = [each for each in directories if Path(each).is_absolute()]
        # With an empty path, `shutil.which` would use the `PATH` of this process.
        return shutil.which(program, path=os.pathsep.join(absolute)) if absolute else None

    def expand_path(self, path: str | Path) -> Path:
        """Expand `~` in a path that the user wrote. The result may still be relative.

        `~name` is not expanded, because it depends on the machine's accounts and not on the client.
        """
        text = str(path)
        home = self.get("USERPROFILE" if sys.platform == "win32" else "HOME")
        if home and (text == "~" or text.startswith(("~/", "~\\"))):
            return Path(home, text[2:])
        return Path(path)

    def absolute_path(self, path: str | Path) -> Path:
        """Expand `~` in a path, and make it absolute, relative to the working directory."""
        return self.directory / self.expand_path(path)


def environment_of_process() -> Environment:
    """Return the environment of this process. Call this once, when the process starts to serve clients."""
    try:
        directory = Path.cwd()
    except OSError:  # The directory was removed after this process started.
        directory = _ROOT
    return Environment(dict(os.environ), directory, places_of_process())


def empty_environment() -> Environment:
    """Return the default for `ProviderConfig`: no variables, and no place to read or create files."""
    return Environment({}, _ROOT, _NOWHERE)
