"""Keyrings: working, missing, failing, hanging."""

from __future__ import annotations

import threading
import time

import pytest

from jumpseat.system.keyring_storage import SERVICE, BoundedKeyring, KeyringError, system_keyring
from tests.unit.adapters.github.keyrings import BrokenKeyring, DictKeyring, ForgetfulKeyring, SilentKeyring


async def test_a_working_keyring_stores_reads_and_deletes() -> None:
    ring = DictKeyring()
    bounded = BoundedKeyring(lambda: ring)

    await bounded.set("a", "canary")
    assert ring.kept == {(SERVICE, "a"): "canary"}
    assert await bounded.get("a") == "canary"
    await bounded.delete("a")
    await bounded.delete("a")
    assert await bounded.get("a") is None


@pytest.mark.requirement("8:keyring")
async def test_a_missing_keyring_is_an_error() -> None:
    with pytest.raises(KeyringError, match="there is no keyring"):
        await BoundedKeyring(lambda: None).get("a")


@pytest.mark.requirement("8:keyring")
async def test_the_error_of_a_failing_keyring_names_only_the_type_of_the_exception() -> None:
    with pytest.raises(KeyringError, match=r"^PermissionError$"):
        await BoundedKeyring(BrokenKeyring).set("a", "canary")


async def test_a_keyring_that_does_not_store_is_detected() -> None:
    with pytest.raises(KeyringError, match="does not return"):
        await BoundedKeyring(ForgetfulKeyring).set("a", "canary")


@pytest.mark.requirement("8:keyring")
async def test_a_hanging_keyring_is_not_awaited() -> None:
    ring = SilentKeyring()
    began = time.monotonic()
    try:
        with pytest.raises(KeyringError, match=r"did not answer within 0\.2 s"):
            await BoundedKeyring(lambda: ring, seconds=0.2).get("a")
        assert time.monotonic() - began < 5
        # A daemon thread does not delay the interpreter's exit.
        assert [thread.daemon for thread in threading.enumerate() if thread.name == "limited"] == [True]
    finally:
        ring.answer.set()


def test_a_backend_of_low_priority_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    fail = pytest.importorskip("keyring.backends.fail")
    null = pytest.importorskip("keyring.backends.null")
    before = keyring.get_keyring()
    try:
        for backend in (fail.Keyring(), null.Keyring()):
            keyring.set_keyring(backend)
            assert system_keyring() is None
    finally:
        keyring.set_keyring(before)


def test_a_backend_of_good_priority_is_used() -> None:
    keyring = pytest.importorskip("keyring")
    backend_module = pytest.importorskip("keyring.backend")

    class Good(backend_module.KeyringBackend):
        priority = 5

        def get_password(self, service: str, username: str) -> str | None:
            return None

        def set_password(self, service: str, username: str, password: str) -> None: ...

        def delete_password(self, service: str, username: str) -> None: ...

    before = keyring.get_keyring()
    try:
        good = Good()
        keyring.set_keyring(good)
        assert system_keyring() is good
    finally:
        keyring.set_keyring(before)
