"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jumpseat.testing.upstream import FakeUpstream
from tests.daemon import Daemon, environment_of, provider, running_daemon
from tests.emulator import CopilotEmulator

if TYPE_CHECKING:
    from tests.fakes.tls_front import Authority


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


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that names no proxy, wherever the tests run."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """A certificate authority of this test's own."""
    from tests.fakes.tls_front import Authority  # Deferred: few tests need cryptography.

    return Authority(tmp_path / "authority")
