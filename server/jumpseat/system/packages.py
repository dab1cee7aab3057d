"""Builds the command that hints show for installing packages."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec


def install_command(*arguments: str) -> str:
    """Return the shell command that installs packages into the Python environment of this process.

    The command uses this environment's pip, or uv if the environment was created without pip. A bare `pip`
    could belong to another environment.

    Args:
        arguments: the arguments of `pip install`.
    """
    pip = [sys.executable, "-m", "pip", "install"]
    uv = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*(uv if find_spec("pip") is None else pip), *arguments])
