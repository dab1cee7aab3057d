"""One Neovim with the plug-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.neovim.child import Child, running_neovim


@pytest.fixture
def child(home: Path) -> Iterator[Child]:
    """A Neovim with the plug-in and an open chat."""
    with running_neovim(home) as running:
        running.command("Jumpseat")
        yield running
