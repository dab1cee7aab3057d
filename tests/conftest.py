"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.daemon import Daemon, environment_of, provider, running_daemon
from tests.emulator import CopilotEmulator
from tests.fakes.upstream import FakeUpstream


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that ties a test to rows of `tests/requirements.py`."""
    config.addinivalue_line("markers", "requirement(*ids): the rows of the contract that this test shows")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty JUMPSEAT_HOME, and nobody signed in elsewhere."""
    directory = tmp_path / "home"
    directory.mkdir()
    for name, value in environment_of(directory).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("JUMPSEAT_CONFIG", raising=False)
    return directory


@pytest.fixture
async def daemon(home: Path) -> AsyncIterator[Daemon]:
    """A fresh daemon process that was sent nothing yet."""
    async with running_daemon(home) as running:
        yield running


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    """A scriptable provider."""
    async with FakeUpstream() as running:
        yield running


@pytest.fixture
async def chatty(daemon: Daemon, upstream: FakeUpstream) -> Daemon:
    """A daemon that is initialized with the upstream as its one provider, `fake`, model `m`."""
    await daemon.initialize(provider(upstream.base_url))
    return daemon


@pytest.fixture
async def emulator() -> AsyncIterator[CopilotEmulator]:
    """A GitHub with Copilot, and one account, octocat, with a paid plan."""
    async with CopilotEmulator() as running:
        running.add_account("octocat")
        yield running
