"""The compiled package, and one Emacs with a chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.emacs.child import ORG_AS_FORMAT, Child, compile_package, running_emacs


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the compiled package."""
    return compile_package(tmp_path_factory.mktemp("package"))


@pytest.fixture
def child(home: Path, package: Path) -> Iterator[Child]:
    """An Emacs with an open chat."""
    with running_emacs(home, package=package) as running:
        running.command("jumpseat")
        running.wait("jumpseat-chat-mode")
        yield running


@pytest.fixture
def org(home: Path, package: Path) -> Iterator[Child]:
    """An Emacs with a new chat in Org."""
    with running_emacs(home, package=package, before=ORG_AS_FORMAT) as running:
        running.command("jumpseat")
        running.wait("jumpseat-chat-mode")
        yield running
