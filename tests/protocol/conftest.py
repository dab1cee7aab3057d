"""A daemon that the tests of a module share, because starting one is most of what a short test costs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.daemon import Daemon, provider, running_daemon


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """An initialized daemon with one provider, `fake`, which nobody is; a test leaves it as it was.

    Its tests run in the loop of their module: `@pytest.mark.asyncio(loop_scope="module")`.
    """
    async with running_daemon(tmp_path_factory.mktemp("home")) as daemon:
        await daemon.initialize(provider("http://127.0.0.1:9/v1"))
        yield daemon
