"""What the tests of programs as peers share: a scripted one, its process, and what its handlers hear."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from jumpseat.wire.child import FramedChild
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.wire.children import Told, bounded


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def told() -> Told:
    return Told()


@pytest.fixture
async def child(fake: FakeLanguageServer, told: Told) -> AsyncIterator[FramedChild]:
    """The fake's process, which said nothing yet."""
    started = await told.start(fake.command)
    await fake.wait_for_start()
    yield started
    await bounded(started.stop(0))
