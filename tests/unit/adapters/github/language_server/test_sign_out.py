"""Signing out of a language server, and the sign-ins that cannot be removed."""

from __future__ import annotations

import pytest

from jumpseat.chat import ProtocolError
from jumpseat.wire import RpcError
from tests.unit.adapters.github.language_server.users import User, v2


@pytest.mark.requirement("language-server:sign-out")
async def test_a_sign_out_is_done_by_the_server_and_reported(user: User) -> None:
    await user.status(refresh=True)
    await user.wait_until_settled()

    status = await user.identity.sign_out()

    assert user.fake.params("signOut") == [{}]
    assert (status.state, status.login, status.plan) == ("signed_out", None, None)
    assert [change.state for change in await user.wait_until_settled()] == ["signed_out"]


@pytest.mark.requirement("language-server:sign-out")
async def test_a_sign_in_from_the_environment_remains_and_is_reported(user: User) -> None:
    user.fake.on("signOut", {"status": "OK", "user": "octocat"})

    status = await user.identity.sign_out()

    assert status.state == "signed_in"
    assert "GH_COPILOT_TOKEN" in (status.message or "")


@pytest.mark.requirement("language-server:sign-out")
async def test_an_unauthorized_sign_in_from_the_environment_remains_and_is_reported(
    user: User,
) -> None:
    user.fake.on("signOut", {"status": "NotAuthorized", "user": "octocat"})

    status = await user.identity.sign_out()

    assert status.state == "not_authorized"
    assert "GH_COPILOT_TOKEN" in (status.message or "")


@pytest.mark.requirement("language-server:sign-out")
async def test_a_user_whose_sign_in_has_expired_can_sign_out(user: User) -> None:
    user.fake.status = {"status": "NotSignedIn", "user": "octocat"}
    await user.status()
    user.fake.notify("didChangeStatus/v2", v2("NotSignedIn", message="Over.", askToReSignin=True))
    await user.wait_until_settled()

    status = await user.identity.sign_out()

    assert status.state == "signed_out"
    assert "run out" not in (status.message or "")


@pytest.mark.requirement("language-server:sign-out")
async def test_a_sign_out_that_fails_is_an_error(user: User) -> None:
    user.fake.on("signOut", RpcError(-32603, "The database is locked"))

    with pytest.raises(ProtocolError, match="The database is locked"):
        await user.identity.sign_out()
