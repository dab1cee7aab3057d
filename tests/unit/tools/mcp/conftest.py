"""Clients that are closed after each test, with a record of their servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.system.shared import Shared
from tests.unit.tools.mcp.clients import Client, Record


@pytest.fixture
async def connect(home: Path, record: Record) -> AsyncIterator[Callable[..., Client]]:
    """Create clients of one daemon whose values linger, as those of a shared daemon do.

    They end before the record is checked.
    """
    shared = Shared(lingering=True)
    clients: list[Client] = []

    def create(text: str, **more: Any) -> Client:
        clients.append(Client(home, text, **{"shared": shared, **more}))
        return clients[-1]

    yield create
    for client in clients:
        await client.aclose()
    await shared.aclose()


@pytest.fixture
async def record(tmp_path: Path) -> AsyncIterator[Record]:
    """Return the record of the servers, all of which have ended after the test."""
    record = Record(tmp_path / "record")
    yield record
    assert await record.all_gone()
