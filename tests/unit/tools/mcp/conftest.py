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
from tests.unit.tools.mcp.sign_ins import Connect, make_config


@pytest.fixture
async def connect(home: Path, record: Record) -> AsyncIterator[Callable[..., Client]]:
    """Yield a function that creates clients of one daemon, whose shared values outlive each client.

    The clients and the daemon are closed before `record` checks that all servers have ended.
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
    """Yield the record of the servers, and check after the test that all servers have ended."""
    record = Record(tmp_path / "record")
    yield record
    assert await record.wait_until_gone()


@pytest.fixture
async def authorization() -> AsyncIterator[AuthorizationServer]:
    """Yield an authorization server and the tool server that requires its tokens."""
    async with FakeUpstream() as upstream, FakeUpstream() as other:
        yield AuthorizationServer(upstream, McpEndpoint(other))


@pytest.fixture
def client(connect: Connect, authorization: AuthorizationServer) -> Client:
    """Return a client that uses the server `fake` and allows all tools of it."""
    return connect(make_config(authorization.endpoint))
