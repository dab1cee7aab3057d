"""The wheel and the sdist, installed by pip into a new virtual environment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat import __version__
from tests.packaging.home import Home
from tests.release.conftest import INSTALL_SECONDS, QUESTION


@pytest.mark.parametrize("name", ["jumpseat-{}-py3-none-any.whl", "jumpseat-{}.tar.gz"])
def test_the_local_model_answers(name: str, built: Callable[[str], Path], home: Home) -> None:
    programs = home.directory / "venv/bin"
    home.run("python3", "-m", "venv", "venv")
    home.run(programs / "python", "-m", "pip", "install", f"{built(name)}[local]", seconds=INSTALL_SECONDS)

    assert home.run(programs / "jumpseat", "--version").startswith(f"jumpseat {__version__}\n")
    home.run(programs / "jumpseat", "local", "install", seconds=INSTALL_SECONDS)
    assert home.run(programs / "jumpseat", "chat", "--own", "--no-keep", QUESTION).strip()
