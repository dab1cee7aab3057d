"""Fixtures: an HTTP client, the hosts of a fake GitHub, a clock, a sign-in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from jumpseat.adapters.github.hosts import GitHubHosts, github_hosts
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.http import HttpClient
from jumpseat.system.secrets import hidden
from jumpseat.testing.upstream import FakeUpstream
from tests.unit.adapters.github.hand_clock import HandClock


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
def hosts(upstream: FakeUpstream) -> GitHubHosts:
    """A GitHub whose three planes are one fake server."""
    return github_hosts(provider="copilot", github_url=upstream.origin, api_url=upstream.origin)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def app_sign_in() -> SignIn:
    """A sign-in with a token that is exchanged."""
    return SignIn(hidden("ghu_canary-of-the-app-4711"), "file")
