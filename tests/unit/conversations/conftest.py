"""The store of a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return the directory of the store's files, which the store creates."""
    return tmp_path / "conversations"


@pytest.fixture
def store(directory: Path) -> ConversationStore:
    """Return an empty store."""
    return ConversationStore(directory)
