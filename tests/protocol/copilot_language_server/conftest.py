"""A scripted Copilot language server, and a daemon with it as its provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.daemon import Daemon
from tests.fakes.language_server import FakeLanguageServer
from tests.protocol.copilot_language_server.daemons import start_daemon


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def served(home: Path, fake: FakeLanguageServer) -> AsyncIterator[Daemon]:
    async with start_daemon(home, fake) as daemon:
        yield daemon
