"""The store of one test."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where its files are; made by the store."""
    return tmp_path / "conversations"


@pytest.fixture
def store(directory: Path) -> ConversationStore:
    """An empty store."""
    return ConversationStore(directory)
