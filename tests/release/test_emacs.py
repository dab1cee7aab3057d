"""The Emacs package, installed by package.el into an empty home directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat import __version__
from tests.editors.emacs.child import emacs, lisp
from tests.packaging.home import Home
from tests.release.conftest import INSTALL_SECONDS, QUESTION, answer_in

pytestmark = pytest.mark.editor

SCRIPT = Path(__file__).with_name("ask.el")


def test_the_local_model_answers(built: Callable[[str], Path], home: Home) -> None:
    package = built("jumpseat-emacs-{}.tar")
    home.run(emacs(), "-Q", "--batch", "--eval", f"(package-install-file {lisp(str(package))})")
    output = home.run(
        *(emacs(), "-Q", "--batch", "--eval", "(package-activate-all)", "-l", str(SCRIPT)),
        *("--eval", f"(ask-in-an-empty-home {lisp(QUESTION)})"),
        seconds=INSTALL_SECONDS,
    )
    installed, _, chat = output.partition("\n")
    assert installed == f"jumpseat {__version__} is installed."
    assert answer_in(chat)
