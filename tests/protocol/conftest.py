"""Fixtures: an agent, and daemons that the tests of a module share, because a daemon starts slowly."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from jumpseat.testing.upstream import FakeUpstream
from tests.acp import AcpAgent, provider_table, running_agent
from tests.daemon import Daemon, provider, running_daemon
from tests.hub import Hub


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """Start and initialize a daemon with one provider, `fake`, at a closed port.

    Tests must not change the daemon's state, and they must run in the loop of their module:
    `@pytest.mark.asyncio(loop_scope="module")`.
    """
    async with running_daemon(tmp_path_factory.mktemp("home")) as daemon:
        await daemon.initialize(provider("http://127.0.0.1:9/v1"))
        yield daemon


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair_of_the_module(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Daemon, FakeUpstream]]:
    """Start the daemon and the provider of the fixture `pair`."""
    async with FakeUpstream() as upstream, running_daemon(tmp_path_factory.mktemp("home")) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        yield daemon, upstream


@pytest_asyncio.fixture(loop_scope="module")
async def pair(pair_of_the_module: tuple[Daemon, FakeUpstream]) -> AsyncIterator[tuple[Daemon, FakeUpstream]]:
    """A daemon and its provider, which the tests of a module share.

    Each test starts with an empty script and no recorded requests. At its end, no chat may be in flight, and
    all responses must have been read.
    """
    daemon, upstream = pair_of_the_module
    upstream.forget()
    yield pair_of_the_module
    assert (await daemon.request("chat/cancel", {"turnId": "none"})).result == {"cancelled": False}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a project with one file."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "main.py").write_text("print('hello')\n")
    return root


@pytest.fixture
async def agent(hub: Hub, upstream: FakeUpstream, root: Path) -> AsyncIterator[AcpAgent]:
    """An initialized agent in the project, whose only provider is the upstream."""
    config = provider_table(upstream.base_url) + '[prompts.shout]\ntext = "SHOUT {{input}}"\n'
    async with running_agent(hub, root, config=config) as running:
        await running.initialize()
        yield running
