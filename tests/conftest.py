"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from jumpseat.testing.upstream import FakeUpstream
from tests.daemon import Daemon, environment_of, provider, running_daemon
from tests.emulator import CopilotEmulator
from tests.hub import Hub, clean_up, no_daemon_afterwards, running_hub

if TYPE_CHECKING:
    from tests.fakes.tls_front import Authority


# Use the same examples in every run and no deadlines, so that failures are caused by changes and not by a new
# random seed or a busy machine. To search with new examples, run `pytest --hypothesis-profile=search`.
_UNHURRIED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("steady", derandomize=True, **_UNHURRIED)
hypothesis.settings.register_profile("search", max_examples=5000, **_UNHURRIED)
hypothesis.settings.load_profile("steady")

# If a proxy is configured, the providers' own clients and `urllib` would send requests for loopback to it.
for _name in ("NO_PROXY", "no_proxy"):
    os.environ[_name] = ",".join(filter(None, ("127.0.0.1,localhost", os.environ.get(_name))))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that links a test to rows of `tests/requirements.py`."""
    config.addinivalue_line("markers", "requirement(*ids): the rows of the contract that this test shows")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection while pytest finds the tests, and then exempt all existing objects from it.

    These objects live until the end of the run. To visit them would take a third of the time of this hook.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the configuration, sign-ins, keys and saved settings of the person who runs the tests.

    Instead, tests without the fixture `home` get an empty directory, which must still be empty at the end.
    """
    directory = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment_of(directory).items():
            patch.setenv(name, value)
        for name in ["JUMPSEAT_CONFIG", *(name for name in os.environ if name.endswith("_API_KEY"))]:
            patch.delenv(name, raising=False)
        yield
    assert sorted(directory.rglob("*")) == [], "a test without the fixture `home` wrote files"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set JUMPSEAT_HOME to an empty directory without sign-ins. Its shared daemon ends with the test."""
    directory = tmp_path / "home"
    directory.mkdir()
    for name, value in environment_of(directory).items():
        monkeypatch.setenv(name, value)
    with no_daemon_afterwards(directory):
        yield directory


@pytest.fixture
async def daemon(home: Path) -> AsyncIterator[Daemon]:
    """Start a daemon process without initializing it."""
    async with running_daemon(home) as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def no_daemon_stays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail if a shared daemon or its socket outlives the tests of this process."""
    yield
    assert clean_up(tmp_path_factory.getbasetemp()) == []


@pytest.fixture
async def hub(home: Path) -> AsyncIterator[Hub]:
    """Return the hub of `home`. Its first client starts the shared daemon."""
    async with running_hub(home) as shared:
        yield shared


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    """Start a scriptable provider."""
    async with FakeUpstream() as running:
        yield running


@pytest.fixture
async def chatty(daemon: Daemon, upstream: FakeUpstream) -> Daemon:
    """Initialize a daemon whose only provider, `fake`, is the upstream with the model `m`."""
    await daemon.initialize(provider(upstream.base_url))
    return daemon


@pytest.fixture
async def emulator() -> AsyncIterator[CopilotEmulator]:
    """Start an emulator of GitHub with one account, octocat, which has a paid plan for Copilot."""
    async with CopilotEmulator() as running:
        running.add_account("octocat")
        yield running


@pytest.fixture
def ignored_interrupts() -> Iterator[None]:
    """Ignore SIGINT in the test process, as background jobs of a shell do."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the proxy variables from the environment."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Create a certificate authority for this test."""
    from tests.fakes.tls_front import Authority  # Deferred: few tests need cryptography.

    return Authority(tmp_path / "authority")
