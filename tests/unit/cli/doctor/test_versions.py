"""`jumpseat --version`."""

from __future__ import annotations

import platform
import subprocess
import sys

import pydantic

from jumpseat import __version__


def test_the_version_is_on_the_first_line_and_the_platform_on_the_next() -> None:
    first, *more = subprocess.run(
        [sys.executable, "-m", "jumpseat", "--version"],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    ).stdout.splitlines()
    assert first == f"jumpseat {__version__}"
    assert f"Python {platform.python_version()}" in more[0]
    assert f"pydantic {pydantic.VERSION}" in more[1]
