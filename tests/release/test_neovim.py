"""The Neovim archive, unpacked as a package into an empty home directory."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat import __version__
from tests.editors.programs import program
from tests.packaging.home import Home
from tests.release.conftest import INSTALL_SECONDS, QUESTION, answer_in

pytestmark = pytest.mark.editor

SCRIPT = Path(__file__).with_name("ask.lua")


def test_the_local_model_answers(built: Callable[[str], Path], home: Home) -> None:
    start = home.directory / ".local/share/nvim/site/pack/jumpseat/start"
    start.mkdir(parents=True)
    with tarfile.open(built("jumpseat-neovim-{}.tar.gz")) as archive:
        archive.extractall(start, filter="data")
    result = home.directory / "result"
    home.variables |= {"ASK_QUESTION": QUESTION, "ASK_RESULT": str(result)}
    home.run(program("nvim"), "--headless", "-c", f"luafile {SCRIPT}", "-c", "cquit", seconds=INSTALL_SECONDS)
    installed, _, chat = result.read_text("utf-8").partition("\n")
    assert installed == f"jumpseat: jumpseat {__version__} is installed."
    assert answer_in(chat)
