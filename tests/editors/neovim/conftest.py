"""Fixtures of the Neovim tests: an upstream, a home, and one Neovim with the plug-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.editors.neovim.child import Child, config_of, running_neovim
from tests.hub import no_daemon_afterwards


@pytest.fixture
def provider() -> Iterator[ThreadedUpstream]:
    """A scriptable provider, for tests that are not async."""
    with ThreadedUpstream() as running:
        yield running


@pytest.fixture
def empty_home(tmp_path: Path) -> Iterator[Path]:
    """The directory of Neovim's and the daemon's files; the daemon ends after the last Neovim."""
    home = tmp_path / "home"
    home.mkdir()
    with no_daemon_afterwards(home):
        yield home


@pytest.fixture
def nvim_home(empty_home: Path, provider: ThreadedUpstream) -> Path:
    """That directory, configured for the provider."""
    config_of(empty_home, provider.base_url)
    return empty_home


@pytest.fixture
def child(nvim_home: Path) -> Iterator[Child]:
    """A Neovim with the plug-in and a chat that is open."""
    with running_neovim(nvim_home) as running:
        running.command("Jumpseat")
        yield running
