"""Fixtures of the Neovim tests: an upstream, a home, and one Neovim with the plug-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.editors.neovim.child import Child, config_of, running_neovim


@pytest.fixture
def provider() -> Iterator[ThreadedUpstream]:
    """A scriptable provider, for tests that are not async."""
    with ThreadedUpstream() as running:
        yield running


@pytest.fixture
def nvim_home(tmp_path: Path, provider: ThreadedUpstream) -> Path:
    """The directory of Neovim's and the daemon's files, configured for the provider."""
    config_of(tmp_path / "home", provider.base_url)
    return tmp_path / "home"


@pytest.fixture
def child(nvim_home: Path) -> Iterator[Child]:
    """A Neovim with the plug-in and a chat that is open."""
    with running_neovim(nvim_home) as running:
        running.command("Jumpseat")
        yield running
