"""One exchange and its response: the lifetime of a token, independent of clocks."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

import pytest

from jumpseat.adapters.github.copilot.token import CopilotToken, exchange, read_token
from jumpseat.adapters.github.errors import ExchangeClosedError
from jumpseat.adapters.github.hosts import GitHubHosts, github_hosts
from jumpseat.chat import AuthenticationError, AuthorizationError, ConfigError, ProtocolError, RequestError
from jumpseat.http import HttpAnswer, HttpClient
from jumpseat.system.secrets import Secret, redact
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.recorded.recordings import TRANSCRIPTS
from tests.unit.adapters.github.hand_clock import HandClock

NOW = 1_800_000_000.0
DOTCOM = github_hosts(provider="copilot")
RECORDED = TRANSCRIPTS / "copilot" / "llm-github-copilot" / "token_200.json"
TOKEN = "tid=canary0;exp=1744607070;sku=copilot_for_business_seat;st=dotcom;chat=1:" + "0" * 64


def answer(date: float | None = None, **changed: Any) -> HttpAnswer:
    body = {"token": TOKEN, "endpoints": {"api": "https://api.business.githubcopilot.com"}, **changed}
    headers = {} if date is None else {"date": formatdate(date, usegmt=True)}
    return HttpAnswer(200, headers, json.dumps(body).encode())


def lifetimes(found: CopilotToken) -> tuple[float, float]:
    """Return the seconds until the refresh, and until the expiry."""
    return found.refresh_at - NOW, found.expires_at - NOW


@pytest.mark.requirement("8:refresh")
@pytest.mark.parametrize(
    ("date", "fields", "expected"),
    [
        # In the usual response, the token expires five minutes after `refresh_in`.
        (NOW, {"refresh_in": 1500, "expires_at": NOW + 1800}, (1260, 1560)),
        # A local clock that is an hour behind or ahead makes no difference.
        (NOW + 3600, {"refresh_in": 1500, "expires_at": NOW + 5400}, (1260, 1560)),
        (NOW - 3600, {"refresh_in": 1500, "expires_at": NOW - 1800}, (1260, 1560)),
        (None, {"refresh_in": 1500, "expires_at": NOW - 1800}, (1260, 1560)),
        # Without `refresh_in`, the expiry alone decides.
        (NOW + 3600, {"expires_at": NOW + 5400}, (1500, 1800)),
        (None, {"expires_at": NOW + 1800}, (1500, 1800)),
        # The expiry is earlier than the refresh.
        (NOW, {"refresh_in": 1500, "expires_at": NOW + 100}, (50, 100)),
        # An expiry in the past is ignored. Without the server's date, the local clock decides what is past.
        (NOW, {"refresh_in": 1500, "expires_at": NOW - 100}, (1260, 1560)),
        (NOW, {"expires_at": NOW - 100}, (300, 600)),
        (None, {"expires_at": NOW - 3600}, (300, 600)),
        # A token with a short lifetime is refreshed after half of it, because the margin would use it up.
        (NOW, {"refresh_in": 60}, (60, 120)),
        # The lifetime is ten minutes if it is unknown, and at most a day.
        (NOW, {}, (300, 600)),
        (NOW, {"refresh_in": "soon", "expires_at": True}, (300, 600)),
        (NOW, {"refresh_in": 1e9}, (86100, 86400)),
    ],
)
def test_the_lifetime_of_a_token_depends_on_durations_not_clocks(
    date: float | None, fields: dict[str, Any], expected: tuple[float, float]
) -> None:
    assert lifetimes(read_token(answer(date, **fields), DOTCOM, HandClock(NOW))) == pytest.approx(expected)


@pytest.mark.requirement("8:refresh")
def test_jitter_makes_the_refresh_happen_up_to_a_minute_earlier() -> None:
    found = read_token(answer(refresh_in=1500), DOTCOM, HandClock(NOW), jitter=1.0)

    assert lifetimes(found) == (1200, 1560)


def test_the_other_fields_of_the_answer_are_kept() -> None:
    found = read_token(answer(sku="free_limited_copilot", chat_enabled=False), DOTCOM, HandClock(NOW))

    assert (found.sku, found.chat_enabled) == ("free_limited_copilot", False)
    assert found.data_host == "https://api.business.githubcopilot.com"
    assert found.secret.reveal() == TOKEN
    assert "canary0" not in repr(found)
    assert redact(f"x {TOKEN}") == "x ***"


@pytest.mark.requirement("8:credential-host")
def test_a_data_host_elsewhere_is_refused() -> None:
    with pytest.raises(ConfigError, match="not belong to this GitHub"):
        read_token(answer(endpoints={"api": "https://evil.example"}), DOTCOM, HandClock(NOW))


@pytest.mark.parametrize("token", [None, "", 7, "a\r\nb", "é", "x" * 20_000])
def test_an_answer_without_a_token_is_a_protocol_error(token: object) -> None:
    with pytest.raises(ProtocolError, match="is not from GitHub"):
        read_token(answer(token=token), DOTCOM, HandClock(NOW))


def test_a_token_from_the_future_is_not_trusted() -> None:
    found = read_token(answer(refresh_in=1500), DOTCOM, HandClock(NOW + 3600))

    assert not found.is_valid(HandClock(NOW), until=found.expires_at)


@pytest.mark.skipif(not RECORDED.is_file(), reason="the recordings are missing")
def test_a_recorded_answer_is_read() -> None:
    recorded = HttpAnswer(200, {"date": formatdate(1744605270, usegmt=True)}, RECORDED.read_bytes())

    found = read_token(recorded, DOTCOM, HandClock(NOW))

    assert lifetimes(found) == (1260, 1560)
    assert found.data_host == "https://api.business.githubcopilot.com"
    assert (found.sku, found.chat_enabled) == ("copilot_for_business_seat", True)


async def exchange_token(http: HttpClient, hosts: GitHubHosts) -> CopilotToken:
    return await exchange(
        http,
        hosts,
        Secret("ghu_canary"),
        source="file",
        headers={"Editor-Version": "Neovim/0.11"},
        clock=HandClock(),
        jitter=0,
    )


async def test_the_exchange_sends_the_identity_of_the_client(
    http: HttpClient, hosts: GitHubHosts, upstream: FakeUpstream
) -> None:
    upstream.script(
        Reply.json({"token": TOKEN, "refresh_in": 1500, "endpoints": {"api": upstream.origin}}),
        path="/copilot_internal/v2/token",
    )

    assert (await exchange_token(http, hosts)).data_host == upstream.origin
    sent = upstream.requests[0]
    assert (sent.method, sent.headers["authorization"]) == ("GET", "token ghu_canary")
    assert sent.headers["editor-version"] == "Neovim/0.11"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"message": "Bad credentials"}, AuthenticationError),
        (403, {"message": "no", "error_details": {"notification_id": "not_signed_up"}}, AuthorizationError),
        (404, {"message": "Not Found"}, ExchangeClosedError),
        (403, {"message": "Resource not accessible by personal access token"}, ExchangeClosedError),
        (307, {}, RequestError),
    ],
)
async def test_a_refusal_is_reported_and_the_exchange_not_repeated(
    http: HttpClient,
    hosts: GitHubHosts,
    upstream: FakeUpstream,
    status: int,
    body: Any,
    kind: type[Exception],
) -> None:
    upstream.default(Reply.json(body, status, location=f"{upstream.origin}/elsewhere"))

    with pytest.raises(kind) as caught:
        await exchange_token(http, hosts)
    assert len(upstream.requests) == 1
    if status == 307:
        assert "providers.copilot.api_url" in caught.value.hint
