"""Signing in to a language server: the code, the page, cancels and failures."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jumpseat.adapters.base.account import AuthStatus
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError, ProtocolError, RequestError
from jumpseat.wire import METHOD_NOT_FOUND, RpcError
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.fakes.language_server_answers import DEVICE_FLOW
from tests.unit.adapters.github.language_server.users import COMMAND, User, Users

DEVICE = {"userCode": "ABCD-1234", "verificationUri": "https://github.com/login/device", "expiresIn": 899}


def script_device_flow(fake: FakeLanguageServer, done: Any, **code: Any) -> None:
    """Make the server sign in as version 1.539 does: notify the code, then answer with `done`.

    If `done` is an event, the server waits for it, and then answers that a user is signed in.
    """

    async def flow(params: Any) -> Any:
        fake.notify("signInWithDeviceFlowProgress", {**DEVICE, **code})
        if isinstance(done, asyncio.Event):
            await done.wait()
            fake.status = {"status": "OK", "user": "octocat"}
            return fake.status
        return done

    fake.on("signInWithDeviceFlow", flow)


@pytest.fixture
def signed_out(user: User) -> User:
    user.fake.status = {"status": "NotSignedIn"}
    return user


@pytest.fixture
def approved(signed_out: User) -> asyncio.Event:
    """Make the server notify a code, and sign the user in once the event is set."""
    event = asyncio.Event()
    script_device_flow(signed_out.fake, event)
    return event


@pytest.fixture
async def signing_in(signed_out: User, approved: asyncio.Event) -> asyncio.Task[AuthStatus]:
    """Return a pending sign-in whose code has been shown."""
    task = asyncio.ensure_future(signed_out.sign_in())
    await signed_out.prompt()
    return task


@pytest.mark.requirement("language-server:sign-in")
async def test_a_person_is_shown_the_code_and_signed_in(signed_out: User, approved: asyncio.Event) -> None:
    user = signed_out
    before = datetime.now(UTC)
    signing_in = asyncio.ensure_future(user.sign_in())
    prompt = await user.prompt()
    approved.set()

    status = await signing_in

    assert (prompt.user_code, prompt.verification_uri) == ("ABCD-1234", "https://github.com/login/device")
    assert abs(prompt.expires_at - before - timedelta(seconds=899)) < timedelta(seconds=60)
    assert prompt.interval_seconds == 5.0
    assert (status.state, status.login, status.plan) == ("signed_in", "octocat", "individual")
    changes = await user.wait_until_settled()
    assert (changes[-1].state, changes[-1].plan) == ("signed_in", "individual")
    assert "signIn" not in user.fake.methods
    assert "workspace/executeCommand" not in user.fake.methods


@pytest.mark.requirement("language-server:sign-in")
async def test_an_older_server_signs_in_with_two_requests(signed_out: User) -> None:
    status = await signed_out.sign_in()

    assert [prompt.user_code for prompt in signed_out.prompts] == ["ABCD-1234"]
    assert signed_out.fake.params("signInConfirm") == [{"userCode": "ABCD-1234"}]
    assert (status.state, status.login) == ("signed_in", "octocat")
    # The server's command for the sign-in would open a browser.
    assert "workspace/executeCommand" not in signed_out.fake.methods


@pytest.mark.requirement("language-server:sign-in")
@pytest.mark.parametrize("method", ["signInWithDeviceFlow", "signIn"])
async def test_a_signed_in_user_is_not_prompted(user: User, method: str) -> None:
    user.fake.on(method, {"status": "AlreadySignedIn", "user": "octocat"})

    status = await user.sign_in()

    assert (user.prompts, status.state, status.login) == ([], "signed_in", "octocat")


@pytest.mark.requirement("language-server:sign-in-cancel")
async def test_a_cancelled_sign_in_is_cancelled_at_the_server(
    signed_out: User, signing_in: asyncio.Task[AuthStatus]
) -> None:
    signing_in.cancel()
    with pytest.raises(asyncio.CancelledError):
        await signing_in

    await signed_out.fake.wait_for("$/cancelRequest")
    # After the cancel, the next sign-in can start.
    signed_out.fake.on("signInWithDeviceFlow", {"status": "OK", "user": "octocat"})
    assert (await signed_out.sign_in()).state == "signed_in"


@pytest.mark.requirement("language-server:sign-in-page")
@pytest.mark.parametrize(
    "page",
    [
        "https://github.evil.example/login/device",
        "https://github.com.evil.example/login/device",
        "https://github.com@evil.example/login/device",
        "https://github.com:444/login/device",
        "http://github.com/login/device",
        "https://github.com\\@evil.example/login/device",
        "https://github.com/login device",
        "https://[github.com/",
        "javascript:alert(1)",
        "",
        None,
        7,
    ],
)
@pytest.mark.parametrize("older", [False, True])
async def test_a_page_of_another_host_is_never_shown(signed_out: User, page: Any, older: bool) -> None:
    user = signed_out
    if older:
        user.fake.on("signIn", {**DEVICE_FLOW, "verificationUri": page})
        user.fake.on("signInConfirm", NEVER)
    else:
        script_device_flow(user.fake, asyncio.Event(), verificationUri=page)

    with pytest.raises(ProtocolError, match=r"is not on github\.com"):
        await user.sign_in()

    assert user.prompts == []
    if not older:
        await user.fake.wait_for("$/cancelRequest")
    assert "signInConfirm" not in user.fake.methods


@pytest.mark.requirement("language-server:sign-in-page")
@pytest.mark.parametrize(
    ("table", "page"),
    [
        ({"host": "acme.ghe.com"}, "https://acme.ghe.com/login/device"),
        ({"host": "https://acme.ghe.com/"}, "https://ACME.ghe.com/login/device"),
        ({"host": "127.0.0.1:8080"}, "http://127.0.0.1:8080/login/device"),
        ({"github_url": "http://127.0.0.1:8080"}, "http://127.0.0.1:8080/login/device"),
    ],
)
async def test_a_page_on_the_configured_host_is_shown_and_loopback_may_use_http(
    fake: FakeLanguageServer, users: Users, table: dict[str, Any], page: str
) -> None:
    fake.status = {"status": "NotSignedIn"}
    fake.on("signIn", {**DEVICE_FLOW, "verificationUri": page})
    user = users.make(**table)

    await user.sign_in()

    assert [prompt.verification_uri for prompt in user.prompts] == [page]


@pytest.mark.requirement("language-server:sign-in-page")
@pytest.mark.parametrize("code", [None, "", 7, "AB CD", "A" * 33, "\x1b[2J"])
async def test_an_invalid_code_is_never_shown(signed_out: User, code: Any) -> None:
    script_device_flow(signed_out.fake, asyncio.Event(), userCode=code)

    with pytest.raises(ProtocolError, match="without a code"):
        await signed_out.sign_in()
    assert signed_out.prompts == []


@pytest.mark.requirement("language-server:sign-in-failures")
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(
    "words",
    ["DeviceFlowError: The authorization request was denied.", "DeviceFlowError: This code has expired."],
)
async def test_an_unfinished_sign_in_is_reported_with_the_servers_message(
    signed_out: User, older: bool, words: str
) -> None:
    if older:
        signed_out.fake.on("signInConfirm", RpcError(1001, words))
    else:
        script_device_flow(signed_out.fake, RpcError(1001, words))

    with pytest.raises(AuthenticationError) as caught:
        await signed_out.sign_in()

    assert words.removeprefix("DeviceFlowError: ").rstrip(".") in caught.value.message
    assert COMMAND in (caught.value.hint or "")


@pytest.mark.requirement("language-server:sign-in-failures")
async def test_a_sign_in_of_an_account_without_copilot_is_an_error(signed_out: User) -> None:
    script_device_flow(signed_out.fake, {"status": "NotAuthorized", "user": "octocat"})

    with pytest.raises(AuthorizationError, match=r"octocat at github\.com may not use Copilot"):
        await signed_out.sign_in()


@pytest.mark.requirement("language-server:sign-in-once")
async def test_a_second_sign_in_is_refused_while_the_first_waits(
    signed_out: User, signing_in: asyncio.Task[AuthStatus]
) -> None:
    with pytest.raises(RequestError, match="in progress"):
        await signed_out.sign_in()

    signing_in.cancel()
    with pytest.raises(asyncio.CancelledError):
        await signing_in


@pytest.mark.requirement("language-server:sign-in-once")
async def test_one_of_two_simultaneous_sign_ins_is_refused_during_the_servers_start(
    signed_out: User, approved: asyncio.Event
) -> None:
    user = signed_out
    assert user.server.running_connection is None

    both = [asyncio.ensure_future(user.sign_in()) for _ in range(2)]
    ((refused,), (accepted,)) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    approved.set()

    with pytest.raises(RequestError, match="in progress"):
        await refused
    assert (await accepted).state == "signed_in"
    assert len(user.fake.params("signInWithDeviceFlow")) == 1


@pytest.mark.requirement("language-server:sign-in-cancel")
async def test_a_new_sign_in_can_begin_right_after_a_cancel(
    signed_out: User, signing_in: asyncio.Task[AuthStatus]
) -> None:
    signed_out.fake.on("signInWithDeviceFlow", {"status": "OK", "user": "octocat"})

    signing_in.cancel()
    status = await signed_out.sign_in()

    assert status.state == "signed_in"
    with pytest.raises(asyncio.CancelledError):
        await signing_in


@pytest.mark.requirement("language-server:sign-in-failures")
async def test_a_failed_start_does_not_block_the_next_sign_in(user: User, tmp_path: Any) -> None:
    command, user.server._config.command = user.server._config.command, [str(tmp_path / "nothing")]
    with pytest.raises(ChatError):
        await user.sign_in()
    user.server._config.command = command
    user.fake.on("signInWithDeviceFlow", {"status": "OK", "user": "octocat"})

    assert (await user.sign_in()).state == "signed_in"


@pytest.mark.requirement("language-server:sign-in-cancel")
@pytest.mark.parametrize("late_code_is_shown", [True, False])
async def test_a_late_code_of_a_cancelled_sign_in_is_replaced_by_the_next_code(
    signed_out: User, late_code_is_shown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    user, approved = signed_out, asyncio.Event()

    def notify(**code: str) -> None:
        user.fake.notify("signInWithDeviceFlowProgress", {**DEVICE, **code})

    async def flow(params: Any) -> Any:
        # The first code belongs to the sign-in that was cancelled before this one.
        notify(userCode="DEAD-0000")
        if late_code_is_shown:
            await user.prompt()
        notify(userCode="GOOD-1111")
        if late_code_is_shown:
            notify(verificationUri="https://evil.test/")  # This page is not shown, and a warning is logged.
        await approved.wait()
        return {"status": "OK", "user": "octocat"}

    user.fake.on("signInWithDeviceFlow", flow)
    signing_in = asyncio.ensure_future(user.sign_in())
    await user.prompt()
    await user.wait_until_settled()
    approved.set()
    status = await signing_in

    assert user.prompts[-1].user_code == "GOOD-1111"
    assert {prompt.verification_uri for prompt in user.prompts} == {DEVICE["verificationUri"]}
    logged = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert [message for message in logged if "the second code" not in message] == []
    assert bool(logged) == late_code_is_shown
    assert status.state == "signed_in"


@pytest.mark.requirement("language-server:sign-in-failures")
async def test_an_update_is_proposed_if_the_server_has_no_sign_in_methods(
    signed_out: User,
) -> None:
    signed_out.fake.on("signIn", RpcError(METHOD_NOT_FOUND, "Method not found"))

    with pytest.raises(ProtocolError) as caught:
        await signed_out.sign_in()
    assert "Update" in (caught.value.hint or "")


@pytest.mark.requirement("language-server:sign-in-failures", "language-server:crash")
async def test_a_server_that_dies_ends_a_pending_sign_in(
    signed_out: User, signing_in: asyncio.Task[AuthStatus]
) -> None:
    signed_out.fake.kill()

    with pytest.raises(ProtocolError):
        await signing_in


@pytest.mark.requirement("language-server:sign-in-failures")
async def test_the_wait_for_a_code_is_limited(signed_out: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumpseat.adapters.github.language_server.sign_in.CODE_SECONDS", 0.05)
    signed_out.fake.on("signInWithDeviceFlow", NEVER)

    with pytest.raises(ChatError, match="not send a code"):
        await signed_out.sign_in()
    await signed_out.fake.wait_for("$/cancelRequest")


@pytest.mark.requirement("language-server:sign-in-failures")
async def test_a_sign_in_ends_when_its_code_expires(
    signed_out: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumpseat.adapters.github.language_server.sign_in.MARGIN_SECONDS", 0.0)
    script_device_flow(signed_out.fake, asyncio.Event(), expiresIn=0.05)

    with pytest.raises(AuthenticationError, match="code expired") as caught:
        await signed_out.sign_in()
    assert COMMAND in (caught.value.hint or "")
