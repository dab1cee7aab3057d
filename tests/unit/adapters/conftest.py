"""What the tests of most adapters need."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from jumpseat.http import HttpClient
from jumpseat.testing.upstream import FakeUpstream
from tests.fakes.ollama import FakeOllama


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    """A client of its own for each test."""
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
def server(upstream: FakeUpstream) -> FakeOllama:
    """An Ollama server with one model."""
    return FakeOllama(upstream)
