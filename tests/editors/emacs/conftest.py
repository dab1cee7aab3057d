"""Fixtures of the Emacs tests: an upstream, a home, the compiled package, and one Emacs with a chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.editors.emacs.child import Child, compiled, config_of, running_emacs
from tests.hub import no_daemon_afterwards


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the compiled package."""
    return compiled(tmp_path_factory.mktemp("package"))


@pytest.fixture
def provider() -> Iterator[ThreadedUpstream]:
    """A scriptable provider, for tests that are not async."""
    with ThreadedUpstream() as running:
        yield running


@pytest.fixture
def empty_home(tmp_path: Path) -> Iterator[Path]:
    """The directory of Emacs's and the daemon's files; the daemon ends after the last Emacs."""
    home = tmp_path / "home"
    home.mkdir()
    with no_daemon_afterwards(home):
        yield home


@pytest.fixture
def emacs_home(empty_home: Path, provider: ThreadedUpstream) -> Path:
    """That directory, configured for the provider."""
    config_of(empty_home, provider.base_url)
    return empty_home


@pytest.fixture
def child(emacs_home: Path, package: Path) -> Iterator[Child]:
    """An Emacs with a chat that is open."""
    with running_emacs(emacs_home, package=package) as running:
        running.command("jumpseat")
        running.wait("jumpseat-chat-mode")
        yield running
