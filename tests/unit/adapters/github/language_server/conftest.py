"""Fixtures of the language-server tests: a scripted server, and the parts that run over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jumpseat.adapters.github.language_server.adapter import LanguageServerAdapter
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from tests.environments import here
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.adapters import Make
from tests.unit.adapters.github.language_server.harness import Harness, Harnesses
from tests.unit.adapters.github.language_server.users import User, Users


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def users(fake: FakeLanguageServer) -> AsyncIterator[Users]:
    made = Users(fake)
    yield made
    await made.aclose()


@pytest.fixture
def user(users: Users) -> User:
    return users.make()


@pytest.fixture
async def harnesses(fake: FakeLanguageServer) -> AsyncIterator[Harnesses]:
    made = Harnesses(fake)
    yield made
    await made.aclose()


@pytest.fixture
def harness(harnesses: Harnesses) -> Harness:
    return harnesses.make()


@pytest.fixture
async def make(fake: FakeLanguageServer) -> AsyncIterator[Make]:
    """Yield a function that creates adapters over the fake, and close them at the end."""
    made: list[LanguageServerAdapter] = []

    def one(**table: Any) -> LanguageServerAdapter:
        config = ProviderConfig(
            kind="copilot-language-server", **{"command": fake.command, **table}
        ).set_environment(here())
        made.append(LanguageServerAdapter("cls", config, HttpClient()))
        return made[-1]

    yield one
    for adapter in made:
        await adapter.aclose()


@pytest.fixture
def make_without_program() -> Make:
    """Return a function that creates adapters whose program does not exist, so that any start fails."""

    def one(**table: Any) -> LanguageServerAdapter:
        config = ProviderConfig(
            kind="copilot-language-server", **{"command": ["/nothing/here"], **table}
        ).set_environment(here())
        return LanguageServerAdapter("cls", config, HttpClient())

    return one
