"""The marker that links a test to the scenarios of `scenarios.md`."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "scenario(*ids): the rows of `tests/editors/scenarios.md` that this shows"
    )
