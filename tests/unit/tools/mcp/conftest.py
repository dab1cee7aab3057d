"""Clients that are closed after each test, with a record of their servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.system.shared import Shared
from jumpseat.testing.upstream import FakeUpstream
from tests.fakes.mcp_http import AuthorizationServer, McpEndpoint
from tests.unit.tools.mcp.clients import Client, Record
from tests.unit.tools.mcp.sign_ins import Connect, table


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


@pytest.fixture
async def authorization() -> AsyncIterator[AuthorizationServer]:
    """An authorization server with its tool server."""
    async with FakeUpstream() as upstream, FakeUpstream() as other:
        yield AuthorizationServer(upstream, McpEndpoint(other))


@pytest.fixture
def client(connect: Connect, authorization: AuthorizationServer) -> Client:
    """A client with the server `fake`, all of whose tools are allowed."""
    return connect(table(authorization.endpoint))
