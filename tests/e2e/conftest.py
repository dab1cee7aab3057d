"""Fixtures for the tests with the real Copilot language server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.language_server_harness import Harness, running_harness
from tests.emulator import CopilotEmulator


@pytest.fixture
async def harness(home: Path, emulator: CopilotEmulator) -> AsyncIterator[Harness]:
    """Run a daemon whose only provider is the program, signed in at the emulator."""
    async with running_harness(home, emulator) as running:
        yield running
