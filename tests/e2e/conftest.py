"""What the tests of the real Copilot language server share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.language_server_house import House, house
from tests.emulator import CopilotEmulator


@pytest.fixture
async def inside(home: Path, emulator: CopilotEmulator) -> AsyncIterator[House]:
    async with house(home, emulator) as running:
        yield running
