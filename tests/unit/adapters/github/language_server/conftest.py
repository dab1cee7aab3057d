"""What the tests of the language server share: a scripted one, and who is made over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jumpseat.adapters.github.language_server.adapter import LanguageServerAdapter
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.adapters import Make
from tests.unit.adapters.github.language_server.house import House, Houses
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
async def houses(fake: FakeLanguageServer) -> AsyncIterator[Houses]:
    made = Houses(fake)
    yield made
    await made.aclose()


@pytest.fixture
def house(houses: Houses) -> House:
    return houses.make()


@pytest.fixture
async def make(fake: FakeLanguageServer) -> AsyncIterator[Make]:
    """Makes adapters of the fake, which are closed at the end."""
    made: list[LanguageServerAdapter] = []

    def one(**table: Any) -> LanguageServerAdapter:
        config = ProviderConfig(kind="copilot-language-server", **{"command": fake.command, **table})
        made.append(LanguageServerAdapter("cls", config, HttpClient()))
        return made[-1]

    yield one
    for adapter in made:
        await adapter.aclose()


@pytest.fixture
def fake_free() -> Make:
    """Makes adapters whose program does not exist: whatever starts it fails."""

    def one(**table: Any) -> LanguageServerAdapter:
        config = ProviderConfig(kind="copilot-language-server", **{"command": ["/nothing/here"], **table})
        return LanguageServerAdapter("cls", config, HttpClient())

    return one
