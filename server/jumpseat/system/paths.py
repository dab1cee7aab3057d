"""The directories of jumpseat: configuration, state, and downloaded data.

`$JUMPSEAT_HOME` overrides all three with one directory, for tests and portable use; `$JUMPSEAT_CONFIG` names
the configuration file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_APP = "jumpseat"


class NoHomeError(Exception):
    """The user has no home directory and no variable names another place; the message says what to set."""

    def __init__(self) -> None:
        super().__init__(
            "No home directory was found: HOME is not set and the user has no account entry. "
            "Set HOME, or set JUMPSEAT_HOME to a directory for the files of jumpseat."
        )


class Places(NamedTuple):  # A dataclass would cost `attach` 5 ms of import.
    """Where a user's files are; each path is absolute and may not exist yet."""

    config_file: Path
    """The configuration file to read if a client names no other."""

    state_dir: Path
    """Tokens and saved settings."""

    data_dir: Path
    """Downloaded models."""


def make_private(directory: Path) -> None:
    """Make a directory and its missing parents with mode 0700; an existing one is left as it is.

    Raises:
        OSError: it cannot be made, or is no directory.
    """
    try:
        directory.mkdir(0o700, exist_ok=True)
    except FileNotFoundError:
        # `parents=True` would give them the default mode: files with secrets are then refused in them.
        make_private(directory.parent)
        directory.mkdir(0o700, exist_ok=True)


def places_of_process() -> Places:
    """The places that this process's environment variables and working directory determine.

    Raises:
        NoHomeError: a place depends on the home directory, and there is none.
    """
    try:
        places = Places(_config_file(), _state_dir(), _data_dir())
    except RuntimeError:  # From pathlib and platformdirs.
        raise NoHomeError from None
    # Older releases of platformdirs leave the `~` of a user without a home directory as it is.
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
    import platformdirs  # Deferred: not needed with JUMPSEAT_HOME.

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
