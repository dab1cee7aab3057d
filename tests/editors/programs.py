"""The editors that tests drive."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest


def program(name: str) -> str:
    """The editor next to our interpreter (where a wheel installs it), or on the PATH; skips without it."""
    beside = Path(sys.executable).parent
    found = shutil.which(name, path=os.pathsep.join([str(beside), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
