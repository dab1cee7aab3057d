"""Fixtures for tests whose peer is a program: the scripted program, its process, and our handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from jumpseat.wire.child import FramedChild
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.wire.children import Handlers, wait_bounded


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def handlers() -> Handlers:
    return Handlers()


@pytest.fixture
async def child(fake: FakeLanguageServer, handlers: Handlers) -> AsyncIterator[FramedChild]:
    """Start the fake's process, which has not sent or received a message yet."""
    started = await handlers.start(fake.command)
    await fake.wait_for_start()
    yield started
    await wait_bounded(started.stop(0))
