"""The directories of jumpseat: configuration, state, and downloaded data.

`$JUMPSEAT_HOME` replaces all three with one directory, for tests and portable use. `$JUMPSEAT_CONFIG` names
the configuration file, even if `$JUMPSEAT_HOME` is set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_APP = "jumpseat"


class NoHomeError(Exception):
    """There is no home directory, and no variable names another directory. The message names the remedy."""

    def __init__(self) -> None:
        super().__init__(
            "No home directory was found: HOME is not set and the user has no account entry. "
            "Set HOME, or set JUMPSEAT_HOME to a directory for the files of jumpseat."
        )


class Places(NamedTuple):  # A dataclass would cost `attach` 5 ms of import.
    """The locations of a user's files. The paths are absolute and may not exist yet."""

    config_file: Path
    """The default configuration file, for clients that do not name one."""

    state_dir: Path
    """The directory of tokens, saved settings, kept conversations and other state."""

    data_dir: Path
    """The directory of downloaded models."""

    @property
    def own(self) -> tuple[Path, ...]:
        """The directories and files that belong to jumpseat alone.

        The directory of the configuration file may contain keys. It is included only if it is named
        `jumpseat`, because the user may keep the configuration file in any directory.
        """
        folder = self.config_file.parent
        return (self.config_file, self.state_dir, self.data_dir, *([folder] if folder.name == _APP else []))


def make_private(directory: Path) -> None:
    """Create a directory and its missing parents with mode 0700. Does not change an existing directory.

    Raises:
        OSError: the directory cannot be created, or the path is not a directory.
    """
    try:
        directory.mkdir(0o700, exist_ok=True)
    except FileNotFoundError:
        # `parents=True` would create the parents with the default mode. `StateFile` rejects secrets in such a
        # directory.
        make_private(directory.parent)
        directory.mkdir(0o700, exist_ok=True)


def places_of_process() -> Places:
    """Return the paths for this process, from its environment variables and working directory.

    Raises:
        NoHomeError: a path depends on the home directory, and there is none.
    """
    try:
        places = Places(_config_file(), _state_dir(), _data_dir())
    except RuntimeError:  # pathlib and platformdirs raise this error if there is no home directory.
        raise NoHomeError from None
    # Older releases of platformdirs leave `~` unexpanded if there is no home directory.
    if any(place.parts[:1] == ("~",) for place in places):
        raise NoHomeError
    return Places(*(place.absolute() for place in places))


def _home() -> Path | None:
    home = os.environ.get("JUMPSEAT_HOME")
    return Path(home).expanduser() if home else None


def _config_file() -> Path:
    named = os.environ.get("JUMPSEAT_CONFIG")
    if named:
        return Path(named).expanduser()
    home = _home()
    if home is not None:
        return home / "config.toml"
    import platformdirs  # Imported late because JUMPSEAT_HOME makes it unnecessary.

    return platformdirs.user_config_path(_APP, appauthor=False) / "config.toml"


def _state_dir() -> Path:
    home = _home()
    if home is not None:
        return home
    import platformdirs

    return platformdirs.user_state_path(_APP, appauthor=False)


def _data_dir() -> Path:
    home = _home()
    if home is not None:
        return home
    import platformdirs

    return platformdirs.user_data_path(_APP, appauthor=False)
