"""The device flow, with scripted answers and a clock that records each wait."""

from __future__ import annotations

import asyncio
import urllib.parse
from typing import Any

import pytest

from jumpseat.adapters.github.hosts import GitHubHosts, github_hosts
from jumpseat.adapters.github.sign_in.device_flow import MAX_FAILURES_IN_A_ROW, DeviceCode, DeviceFlow
from jumpseat.chat import (
    AuthenticationError,
    ChatError,
    ConfigError,
    ConnectionError,
    ProtocolError,
    RateLimitError,
    ServerError,
)
from jumpseat.http import HttpClient
from jumpseat.system.secrets import Secret, redact
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.unit.adapters.github.hand_clock import HandClock

START, POLL = "/login/device/code", "/login/oauth/access_token"
CODE = "3584d83530557fdd1f46af8289938c8ef79f9dc5"
TOKEN = "ghu_canaryOfTheDeviceFlow0123456789"
PENDING = Reply.json({"error": "authorization_pending", "error_description": "Still pending."})
SIGNED_IN = Reply.json({"access_token": TOKEN, "token_type": "bearer", "scope": ""})


def flow_reply(upstream: FakeUpstream, **changed: Any) -> Reply:
    answer = {
        "device_code": CODE,
        "user_code": "ABCD-1234",
        "verification_uri": f"{upstream.origin}/login/device",
        "expires_in": 899,
        "interval": 5,
        **changed,
    }
    return Reply.json({key: value for key, value in answer.items() if value is not None})


@pytest.fixture
def flow(http: HttpClient, hosts: GitHubHosts, clock: HandClock) -> DeviceFlow:
    return DeviceFlow(http, hosts, clock=clock)


async def start_flow(flow: DeviceFlow, upstream: FakeUpstream, **changed: Any) -> DeviceCode:
    upstream.script(flow_reply(upstream, **changed), path=START)
    return await flow.start()


@pytest.mark.requirement("8:device-flow")
async def test_a_user_signs_in(flow: DeviceFlow, upstream: FakeUpstream, clock: HandClock) -> None:
    device = await start_flow(flow, upstream)
    upstream.script(PENDING, PENDING, SIGNED_IN, path=POLL)

    token = await flow.wait(device)

    assert token.reveal() == TOKEN
    assert (device.prompt.user_code, device.prompt.interval_seconds) == ("ABCD-1234", 5.0)
    assert device.prompt.verification_uri == f"{upstream.origin}/login/device"
    assert device.prompt.expires_at.timestamp() == pytest.approx(HandClock().wall + 899)
    first, *polls = upstream.requests
    assert first.json == {"client_id": "Iv1.b507a08c87ecfe98", "scope": "read:user"}
    assert {request.headers["accept"] for request in upstream.requests} == {"application/json"}
    assert all(request.headers["user-agent"].startswith("jumpseat/") for request in upstream.requests)
    assert polls[0].json == {
        "client_id": "Iv1.b507a08c87ecfe98",
        "device_code": CODE,
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
    }
    assert clock.slept == [6.0, 6.0, 6.0]  # The interval of five seconds, with a margin of 20 percent.


@pytest.mark.requirement("8:device-flow")
async def test_slow_down_increases_the_interval_permanently(
    flow: DeviceFlow, upstream: FakeUpstream, clock: HandClock
) -> None:
    device = await start_flow(flow, upstream)
    slower = Reply.json({"error": "slow_down", "interval": 10})
    unspecified = Reply.json({"error": "slow_down"})
    faster = Reply.json({"error": "slow_down", "interval": 1})
    upstream.script(slower, PENDING, unspecified, faster, SIGNED_IN, path=POLL)

    await flow.wait(device)

    assert clock.slept == pytest.approx([6.0, 12.0, 12.0, 18.0, 18.0])


@pytest.mark.requirement("8:device-flow")
@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ("access_denied", AuthenticationError, "was refused on GitHub's page"),
        ("expired_token", AuthenticationError, "code expired"),
        ("incorrect_device_code", AuthenticationError, "It is wrong"),
        ("unsupported_grant_type", AuthenticationError, "It is wrong"),
        ("never_heard_of", AuthenticationError, "It is wrong"),
    ],
)
@pytest.mark.parametrize("status", [200, 400])
async def test_every_other_error_ends_the_flow(
    flow: DeviceFlow, upstream: FakeUpstream, error: str, kind: type[ChatError], words: str, status: int
) -> None:
    device = await start_flow(flow, upstream)
    upstream.script(Reply.json({"error": error, "error_description": "It is wrong."}, status), path=POLL)

    with pytest.raises(kind, match=words) as caught:
        await flow.wait(device)
    assert caught.value.provider_code == error
    assert "jumpseat login" in (caught.value.hint or "")
    assert len(upstream.requests) == 2


@pytest.mark.requirement("8:device-flow")
async def test_form_data_is_read_like_json(
    flow: DeviceFlow, upstream: FakeUpstream, clock: HandClock
) -> None:
    def form(**fields: str) -> Reply:
        body = urllib.parse.urlencode(fields).encode()
        return Reply.raw(body, content_type="application/x-www-form-urlencoded")

    page = f"{upstream.origin}/login/device"
    upstream.script(
        form(device_code=CODE, user_code="AB-12", verification_uri=page, expires_in="60", interval="7"),
        path=START,
    )
    upstream.script(form(error="authorization_pending"), form(access_token=TOKEN), path=POLL)

    token = await flow.wait(await flow.start())

    assert token.reveal() == TOKEN
    assert clock.slept == pytest.approx([8.4, 8.4])


@pytest.mark.requirement("8:device-flow")
async def test_polling_ends_when_the_code_has_expired(
    flow: DeviceFlow, upstream: FakeUpstream, clock: HandClock
) -> None:
    device = await start_flow(flow, upstream, expires_in=20)
    upstream.default(PENDING, path=POLL)

    with pytest.raises(AuthenticationError, match="code expired"):
        await flow.wait(device)
    assert clock.slept == [6.0, 6.0, 6.0]


@pytest.mark.requirement("8:device-flow")
async def test_network_failures_are_retried_with_growing_pauses(
    flow: DeviceFlow, upstream: FakeUpstream, clock: HandClock
) -> None:
    device = await start_flow(flow, upstream)
    broken = Reply.raw(b"cut off").reset_after(0)
    page = Reply.raw(b"<html>Sign in to the hotel</html>", content_type="text/html")
    upstream.script(broken, Reply.raw(b"", 502), page, PENDING, SIGNED_IN, path=POLL)

    assert (await flow.wait(device)).reveal() == TOKEN
    assert clock.slept == pytest.approx([6.0, 12.0, 24.0, 48.0, 6.0])


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply.raw(b"cut off").reset_after(0), ConnectionError),
        (Reply.raw(b"", 503), ServerError),
        (Reply.raw(b"[]"), ProtocolError),
        (Reply.raw(b"", 429), RateLimitError),
    ],
)
@pytest.mark.requirement("8:device-flow")
async def test_a_lasting_network_failure_ends_the_flow(
    flow: DeviceFlow, upstream: FakeUpstream, clock: HandClock, reply: Reply, kind: type[ChatError]
) -> None:
    device = await start_flow(flow, upstream)
    upstream.default(reply, path=POLL)

    with pytest.raises(kind):
        await flow.wait(device)
    assert len(clock.slept) == MAX_FAILURES_IN_A_ROW
    assert max(clock.slept) <= 60.0


async def test_a_wait_that_github_requests_is_respected(
    flow: DeviceFlow, upstream: FakeUpstream, clock: HandClock
) -> None:
    device = await start_flow(flow, upstream)
    upstream.script(Reply.raw(b"", 429, retry_after="90"), SIGNED_IN, path=POLL)

    await flow.wait(device)

    assert clock.slept == [6.0, 90.0]


@pytest.mark.requirement("8:verification-page")
@pytest.mark.parametrize(
    "page",
    [
        "https://github.com.evil.example/login/device", "http://127.0.0.1:1/login/device",
        "javascript:alert(1)",
        "//evil.example", "", None, 7, "{origin}@evil.example/", "{origin}\\@evil.example", "{origin}/a b",
        "{origin}/\x1b[31m", "https://[", "file:///etc/passwd",
    ],
)  # fmt: skip
async def test_a_page_on_another_host_is_never_shown(
    flow: DeviceFlow, upstream: FakeUpstream, page: object
) -> None:
    named_page = page.replace("{origin}", upstream.origin) if isinstance(page, str) else page

    with pytest.raises(ProtocolError, match="on another host") as caught:
        await start_flow(flow, upstream, verification_uri=named_page)
    assert "evil" not in caught.value.message


@pytest.mark.requirement("8:verification-page")
async def test_the_page_of_a_public_host_must_be_https_on_that_host(http: HttpClient) -> None:
    flow = DeviceFlow(http, github_hosts("acme.ghe.com", provider="copilot"))

    assert flow._check_page("https://acme.ghe.com/login/device") == "https://acme.ghe.com/login/device"
    for page in ("http://acme.ghe.com/login/device", "https://github.com/login/device"):
        with pytest.raises(ProtocolError):
            flow._check_page(page)


@pytest.mark.parametrize("changed", [
    {"user_code": "\x1b]0;x\x07"}, {"user_code": "x" * 33}, {"user_code": None}, {"device_code": None},
    {"device_code": "a b"},
])  # fmt: skip
async def test_an_invalid_code_is_refused(
    flow: DeviceFlow, upstream: FakeUpstream, changed: dict[str, Any]
) -> None:
    with pytest.raises(ProtocolError, match="is not from GitHub"):
        await start_flow(flow, upstream, **changed)


@pytest.mark.parametrize("interval", [0, "0"])
async def test_an_interval_of_zero_becomes_one_second(
    flow: DeviceFlow, upstream: FakeUpstream, interval: object
) -> None:
    assert (await start_flow(flow, upstream, interval=interval)).prompt.interval_seconds == 1.0


@pytest.mark.parametrize("interval", [None, -5, "soon", True, 1e9])
async def test_an_invalid_interval_becomes_five_seconds(
    flow: DeviceFlow, upstream: FakeUpstream, interval: object
) -> None:
    assert (await start_flow(flow, upstream, interval=interval)).prompt.interval_seconds == 5.0


@pytest.mark.parametrize(
    "reply",
    [
        Reply.raw(b"Not Found", 404),
        Reply.json({"error": "device_flow_disabled"}),
        Reply.json({"error": "incorrect_client_credentials"}),
    ],
)
async def test_a_host_without_the_flow_is_reported_with_the_keys_to_check(
    flow: DeviceFlow, upstream: FakeUpstream, reply: Reply
) -> None:
    upstream.script(reply, path=START)

    with pytest.raises(ConfigError, match="does not offer this sign-in") as caught:
        await flow.start()
    assert "providers.copilot.client_id" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply.raw(b"<html>Unicorn</html>", 503, "text/html"), ServerError),
        (Reply.json({"message": "slow"}, 429), RateLimitError),
        (Reply.raw(b"<html></html>", 200, "text/html"), ProtocolError),
        (Reply.json({"error": "odd", "error_description": "Odd\x1b[31m."}), AuthenticationError),
        (Reply.raw(b"", 302, location="https://evil.example/"), ChatError),
    ],
)
async def test_a_failed_start_gives_a_readable_error(
    flow: DeviceFlow, upstream: FakeUpstream, reply: Reply, kind: type[ChatError]
) -> None:
    upstream.script(reply, path=START)

    with pytest.raises(kind) as caught:
        await flow.start()
    assert "<" not in caught.value.message
    assert "\x1b" not in caught.value.message
    assert len(upstream.requests) == 1


@pytest.mark.requirement("8:device-flow")
async def test_a_cancelled_wait_closes_its_request(flow: DeviceFlow, upstream: FakeUpstream) -> None:
    device = await start_flow(flow, upstream)
    upstream.script(Reply((Gate(), b"{}")), path=POLL)
    waiting = asyncio.ensure_future(flow.wait(device))
    await upstream.wait_for_request(2)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    await upstream.wait_for_disconnect(2)


@pytest.mark.requirement("6:no-secrets-in-reprs")
async def test_neither_code_nor_token_is_shown(flow: DeviceFlow, upstream: FakeUpstream) -> None:
    device = await start_flow(flow, upstream)
    upstream.script(Reply.json({"error": "bad", "error_description": f"no {CODE}"}), SIGNED_IN, path=POLL)

    with pytest.raises(AuthenticationError) as caught:
        await flow.wait(device)
    assert CODE not in f"{device!r}{caught.value.message}{caught.value!r}"
    token = await flow.wait(device)
    assert isinstance(token, Secret)
    assert redact(f"a {TOKEN} b {CODE}") == "a *** b ***"


@pytest.mark.parametrize("answer", [{"access_token": ""}, {"access_token": "a b"}, {"access_token": 7}])
async def test_an_invalid_token_is_not_returned(
    flow: DeviceFlow, upstream: FakeUpstream, answer: dict[str, Any]
) -> None:
    device = await start_flow(flow, upstream)
    upstream.script(Reply.json(answer), path=POLL)

    with pytest.raises(ProtocolError, match="is not from GitHub"):
        await flow.wait(device)
