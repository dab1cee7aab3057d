"""Fixtures for the vendors' own clients, which check the fakes and the emulator.

Test modules do not import these clients: an import takes up to a second, and every test process imports all
test modules.
"""

from types import ModuleType

import pytest


@pytest.fixture
def openai() -> ModuleType:
    return import_client("openai")


@pytest.fixture
def anthropic() -> ModuleType:
    return import_client("anthropic")


@pytest.fixture
def ollama() -> ModuleType:
    return import_client("ollama")


def import_client(package: str) -> ModuleType:
    """Import a client, or skip the test."""
    client: ModuleType = pytest.importorskip(package, reason="the official client is not installed")
    return client
