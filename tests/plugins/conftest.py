"""Fixtures that install the example package into a separate directory, and start a daemon that finds it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.daemon import Daemon, running_daemon
from tests.plugins import EXAMPLE
from tests.plugins.parlour import FakeParlour

INSTALL_SECONDS = 100.0


@pytest.fixture(scope="session")
def installed_example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example's distribution with pip, without network; return its directory for PYTHONPATH."""
    site = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(site), str(EXAMPLE)],
        capture_output=True,
        encoding="utf-8",
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return site


@pytest.fixture
def plugin_environment(installed_example: Path) -> dict[str, str]:
    """Return the environment of a daemon that finds the example."""
    path = [str(installed_example), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, path))}


@pytest.fixture
async def parlour() -> AsyncIterator[FakeParlour]:
    """Start a fake parlour."""
    async with FakeParlour() as running:
        yield running


@pytest.fixture
async def daemon(
    home: Path, plugin_environment: dict[str, str], parlour: FakeParlour
) -> AsyncIterator[Daemon]:
    """Start a daemon that finds the example. Its only provider, `den`, is the fake parlour."""
    (home / "config.toml").write_text(
        'default_provider = "den"\n[providers.den]\nkind = "parlour"\n'
        f'base_url = "{parlour.origin}"\napi_key = "key-of-the-den"\n'
        'region = "south"\ndefault_model = "alto"\n',
        "utf-8",
    )
    async with running_daemon(home, env=plugin_environment) as daemon:
        await daemon.initialize()
        yield daemon
