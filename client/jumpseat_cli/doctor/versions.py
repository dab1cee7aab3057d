"""`jumpseat --version`: what a bug report needs to say."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from jumpseat import __version__

LIBRARIES = ("pygls", "lsprotocol", "pydantic", "httpx2")
OPTIONAL = ("xllamacpp", "keyring")
"""Those whose behaviour reaches users."""


def print_versions() -> None:
    """Print our version alone in the first line, for scripts, and below it those of what we run on."""
    print(f"jumpseat {__version__}")
    print(
        f"Python {platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}"
    )
    print(", ".join(f"{name} {_version_of(name)}" for name in (*LIBRARIES, *OPTIONAL)))


def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
