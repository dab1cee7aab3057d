"""What surrounds a client's process: environment variables, working directory, jumpseat's directories.

One daemon serves clients that were started in different places. Code below `rpc/` therefore reads this value,
never `os.environ` or the current directory.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jumpseat.system.paths import Places
from jumpseat.system.shared import Shared


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """The surroundings of one client. The variables may hold credentials, so `repr` omits them."""

    variables: Mapping[str, str] = field(repr=False)
    directory: Path
    """The working directory, absolute."""

    places: Places
    shared: Shared = field(default_factory=Shared, repr=False)
    """What this client has in common with other clients of the same daemon."""

    def get(self, name: str, default: str = "") -> str:
        """The value of an environment variable."""
        # Windows ignores the case of names; `os.environ` has them in upper case there.
        return self.variables.get(name.upper() if sys.platform == "win32" else name, default)

    def absolute(self, path: str | Path) -> Path:
        """A path that the user wrote, made absolute: `~` is the home directory.

        `~name` is not expanded, because it depends on the machine's accounts and not on the client.
        """
        text = str(path)
        home = self.get("USERPROFILE" if sys.platform == "win32" else "HOME")
        if home and (text == "~" or text.startswith(("~/", "~\\"))):
            return Path(home, text[2:])
        return self.directory / text
