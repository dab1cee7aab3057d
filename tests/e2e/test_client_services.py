"""The Python clients' methods for the services that thin clients share, with the real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from jumpseat_client import Client, SyncClient

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def upstream(home: Path) -> Iterator[ThreadedUpstream]:
    """Start a provider, which the configuration file names `mine`."""
    with ThreadedUpstream() as running:
        table = f'[providers.mine]\nkind = "openai"\nbase_url = "{running.base_url}"\ndefault_model = "m"\n'
        (home / "config.toml").write_text(table, "utf-8")
        yield running


@pytest.mark.requirement("13:client")
def test_a_key_is_set_and_removed(upstream: ThreadedUpstream) -> None:
    upstream.default(Reply.json({"data": [{"id": "m"}]}), path="/v1/models")
    with SyncClient.spawn() as client:
        stored = client.set_key("mine", "a-key-of-a-test")
        assert stored == {"stored": "file", "test": {"ok": True}}
        assert [client.remove_key("mine"), client.remove_key("mine")] == [True, False]


@pytest.mark.requirement("13:client")
async def test_a_key_is_set_and_removed_with_asyncio(upstream: ThreadedUpstream) -> None:
    async with Client.spawn() as client:
        assert await client.set_key("mine", "a-key-of-a-test", test=False) == {"stored": "file"}
        assert await client.remove_key("mine")
    assert upstream.requests == []
