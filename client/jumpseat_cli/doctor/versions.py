"""`jumpseat --version`: the versions that a bug report should contain."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from jumpseat import __version__

LIBRARIES = ("pygls", "lsprotocol", "pydantic", "httpx2")
OPTIONAL = ("xllamacpp", "keyring")
"""Optional packages whose behaviour is visible to users."""


def print_versions() -> None:
    """Print our version alone on the first line, for scripts, then Python, the system and the packages."""
    print(f"jumpseat {__version__}")
    print(
        f"Python {platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}"
    )
    print(", ".join(f"{name} {_find_version(name)}" for name in (*LIBRARIES, *OPTIONAL)))


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
