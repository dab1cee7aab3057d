"""Fixtures of the adapter tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from jumpseat.http import HttpClient
from jumpseat.testing.upstream import FakeUpstream
from tests.fakes.ollama import FakeOllama


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    """Yield an HTTP client for one test."""
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
def server(upstream: FakeUpstream) -> FakeOllama:
    """Start an Ollama server with one model."""
    return FakeOllama(upstream)
