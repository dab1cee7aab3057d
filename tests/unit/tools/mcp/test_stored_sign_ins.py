"""The file that stores the sign-ins to servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jumpseat.system.environment import environment_of_process
from jumpseat.system.secrets import redact
from jumpseat.system.state_file import StateError
from jumpseat.tools.mcp.stored_sign_ins import ServerCredential, SignInStore

pytestmark = pytest.mark.requirement("12:mcp-oauth")

FIRST = ServerCredential(
    tokens={"access_token": "first-access-token", "refresh_token": "first-refresh-token"},
    expires_at=12.0,
    issuer="https://one.example",
    client={
        "client_id": "c1",
        "client_secret": "first-client-secret",
        "redirect_uris": ["http://127.0.0.1:1/"],
    },
)
SECOND = ServerCredential(
    tokens={"access_token": "second-token"}, issuer="https://one.example", client=FIRST.client
)


@pytest.fixture
def store(home: Path) -> SignInStore:
    return SignInStore(environment_of_process().places)


def test_a_sign_in_is_stored_with_its_registration(store: SignInStore) -> None:
    assert store.read("a") is None
    assert store.find_redirect_uri() is None
    store.write("a", FIRST)
    assert store.read("a") == FIRST
    assert store.find_client("https://one.example") == FIRST.client
    assert store.find_redirect_uri() == "http://127.0.0.1:1/"


def test_everything_secret_is_redacted_from_the_first_write_on(store: SignInStore) -> None:
    tokens = {"access_token": "a-token-of-this-test", "refresh_token": "another-of-this-test"}
    store.write("a", ServerCredential(tokens=tokens, client={"client_secret": "a-secret-of-this-test"}))
    assert redact("a-token-of-this-test another-of-this-test a-secret-of-this-test") == "*** *** ***"


def test_only_the_refused_token_is_removed(store: SignInStore) -> None:
    store.write("a", FIRST)
    store.write("b", SECOND)
    store.discard_refused("a", "an-older-token")
    store.discard_refused("c", "first-access-token")
    assert store.read("a") == FIRST
    store.discard_refused("a", "first-access-token")
    refused = store.read("a")
    assert refused is not None
    assert (refused.access_token, refused.tokens, refused.client) == (None, None, FIRST.client)
    assert store.read("b") == SECOND


def test_a_forgotten_registration_is_removed_from_all_sign_ins(store: SignInStore) -> None:
    store.write("a", FIRST)
    store.write("b", SECOND)
    other = ServerCredential(issuer="https://two.example", client={"client_id": "c2"})
    store.write("c", other)
    store.forget_client("c1")
    assert store.find_client("https://one.example") is None
    assert [getattr(store.read(key), "client", "") for key in "abc"] == [None, None, other.client]
    assert store.find_client("https://two.example") == other.client


def test_forgetting_a_sign_in_keeps_the_others(store: SignInStore) -> None:
    store.write("a", FIRST)
    store.write("b", SECOND)
    assert store.forget("a") == []
    assert store.read("a") is None
    assert store.find_client("https://one.example") is None
    assert store.read("b") == SECOND


@pytest.mark.parametrize(
    "content",
    [
        {"servers": [], "clients": 3},
        {"servers": {"a": "text"}, "clients": {"https://one.example": []}},
        {"servers": {"a": {"tokens": {"access_token": 1}, "expires_at": "x", "issuer": [], "client": "c"}}},
    ],
)
def test_values_of_a_wrong_type_count_as_missing(store: SignInStore, content: object) -> None:
    store.write("b", FIRST)
    store.path.write_text(json.dumps({"version": 1, **dict(content)}))
    assert getattr(store.read("a"), "access_token", None) is None
    assert store.find_client("https://one.example") is None
    assert store.find_redirect_uri() is None
    store.discard_refused("a", "x")
    store.forget_client("c1")
    store.write("a", FIRST)
    assert store.read("a") == FIRST
    assert store.forget("a") == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_file_that_others_can_read_is_refused(store: SignInStore) -> None:
    store.write("a", FIRST)
    assert store.path.stat().st_mode & 0o077 == 0
    store.path.chmod(0o644)
    with pytest.raises(StateError, match="can be opened by other users"):
        store.read("a")
