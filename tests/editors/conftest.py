"""The marker that links a test to the scenarios of `scenarios.md`, and fixtures for all editors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.copilot import configure
from tests.editors.github import GitHub, running_github
from tests.editors.provider import write_config
from tests.hub import no_daemon_afterwards

pytest.register_assert_rewrite("tests.editors.chats")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "scenario(*ids): the rows of `tests/editors/scenarios.md` that this shows"
    )


@pytest.fixture
def provider() -> Iterator[ThreadedUpstream]:
    """A scriptable provider, for tests that are not async."""
    with ThreadedUpstream() as running:
        yield running


@pytest.fixture
def empty_home(tmp_path: Path) -> Iterator[Path]:
    """The home directory of an editor and its daemon. The daemon is ended after the test."""
    home = tmp_path / "home"
    home.mkdir()
    with no_daemon_afterwards(home):
        yield home


@pytest.fixture
def home(empty_home: Path, provider: ThreadedUpstream) -> Path:
    """An empty home with a configuration for the provider `fake`."""
    write_config(empty_home, provider.base_url)
    return empty_home


@pytest.fixture
def github(empty_home: Path) -> Iterator[GitHub]:
    """GitHub's services; the configuration in `empty_home` has a provider for them."""
    with running_github() as running:
        configure(empty_home, running.table)
        yield running
