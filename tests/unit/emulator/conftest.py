"""HTTP clients of the emulator, for its own tests."""

import httpx2
import pytest

from tests.unit.emulator.visitor import Visitor


@pytest.fixture
async def visitor(emulator):
    """Yield a client that is not signed in. `exchange` or the device flow signs it in."""
    async with httpx2.AsyncClient(trust_env=False, timeout=10) as http:
        yield Visitor(emulator, http)


@pytest.fixture
async def user(visitor):
    """Return a client with a Copilot token of octocat."""
    await visitor.exchange()
    return visitor
