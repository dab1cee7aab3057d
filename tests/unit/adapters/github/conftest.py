"""Fixtures: an HTTP client, the hosts of a fake GitHub, a clock, a sign-in, and its credentials."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from jumpseat.adapters.github.copilot.credential import CopilotCredential
from jumpseat.adapters.github.hosts import GitHubHosts, github_hosts
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.http import HttpClient
from jumpseat.system.secrets import register_secret
from jumpseat.testing.upstream import FakeUpstream
from tests.unit.adapters.github.hand_clock import HandClock

Make: TypeAlias = Callable[..., CopilotCredential]


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
def hosts(upstream: FakeUpstream) -> GitHubHosts:
    """Return a GitHub instance whose three planes are one fake server."""
    return github_hosts(provider="copilot", github_url=upstream.origin, api_url=upstream.origin)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def app_sign_in() -> SignIn:
    """Return a sign-in whose token has to be exchanged."""
    return SignIn(register_secret("ghu_canary-of-the-app-4711"), "file")


@pytest.fixture
async def make(
    http: HttpClient, hosts: GitHubHosts, app_sign_in: SignIn, clock: HandClock, tmp_path: Path
) -> AsyncIterator[Make]:
    """Yield a function that creates credentials. Several of them act like daemons on one machine."""
    made: list[CopilotCredential] = []

    def one(**changed: Any) -> CopilotCredential:
        parts = {"hosts": hosts, "sign_in": app_sign_in, "clock": clock, **changed}
        directory = parts.pop("directory", tmp_path / "auth")
        made.append(CopilotCredential(http, directory=directory, jitter=lambda: 0.0, **parts))
        return made[-1]

    yield one
    for each in made:
        await each.aclose()
