"""Keys are stored in the keyring or in private files. Deleting a key returns the source that it replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.config import stored_keys
from jumpseat.system.environment import environment_of_process
from tests.unit.adapters.github.keyrings import BrokenKeyring, DictKeyring

KEY = "canary-of-a-key-12345"


@pytest.mark.parametrize("keyring", [DictKeyring, BrokenKeyring])
async def test_a_key_is_stored_in_a_working_keyring_and_otherwise_in_a_file(
    home: Path, monkeypatch: pytest.MonkeyPatch, keyring: type[DictKeyring]
) -> None:
    ring = keyring()
    monkeypatch.setattr(stored_keys, "system_keyring", lambda: ring)
    environment = environment_of_process()
    stored = await stored_keys.store_key(KEY, "a/b", environment)

    assert stored_keys.is_stored(stored.source, environment)
    if keyring is BrokenKeyring:
        assert stored.source.startswith("file:")
        return
    assert stored.source == "keyring:jumpseat/api_key.a%2Fb.1"
    assert list(ring.kept.values()) == [KEY]
    await stored_keys.delete_key(stored.source, environment)
    assert ring.kept == {}


async def test_the_replaced_source_is_recorded_until_another_key_is_stored(home: Path) -> None:
    environment = environment_of_process()
    stored = await stored_keys.store_key(KEY, "a", environment, before="env:MINE", in_file=True)
    # A caller that could not change the configuration deletes the key again.
    for _ in range(2):
        assert await stored_keys.delete_key(stored.source, environment) == "env:MINE"
    again = await stored_keys.store_key(KEY, "a", environment, in_file=True)
    assert again == stored
    assert await stored_keys.delete_key(again.source, environment) is None
