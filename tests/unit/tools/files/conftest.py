"""A project for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.tools.files.project import Project, open_project


@pytest.fixture
async def project(tmp_path: Path, home: Path) -> AsyncIterator[Project]:
    """Yield an empty project."""
    async with open_project(tmp_path / "project") as opened:
        yield opened
