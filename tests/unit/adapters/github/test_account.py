"""The account: plan and quotas in the new and old format, quotas in headers, thresholds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jumpseat.adapters.base.account import Quota
from jumpseat.adapters.github.account import (
    crossed_thresholds,
    fetch_account,
    merge_quotas,
    quotas_from_headers,
    read_account,
)
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.chat import AuthenticationError, ConnectionError, ProtocolError
from jumpseat.http import HttpClient
from jumpseat.system.secrets import Secret
from jumpseat.testing.upstream import FakeUpstream, Reply

TOKEN = Secret("ghu_canary-of-the-account")
JULY = datetime(2026, 7, 1, tzinfo=UTC)


def snapshot(name: str, **changed: Any) -> dict[str, Any]:
    return {
        "overage_count": 0, "overage_entitlement": 0, "overage_permitted": False, "percent_remaining": 100.0,
        "quota_id": name, "quota_remaining": 0.0, "unlimited": True, "has_quota": True, "quota_reset_at": 0,
        "timestamp_utc": "2026-06-20T01:54:36.097Z", "token_based_billing": True, "remaining": 0,
        "entitlement": 0, **changed,
    }  # fmt: skip


BUSINESS: dict[str, Any] = {
    "login": "octocat",
    "access_type_sku": "copilot_for_business_seat_quota",
    "chat_enabled": True,
    "copilot_plan": "business",
    "organization_login_list": ["octo"],
    "organization_list": [{"login": "octo", "name": "Octo"}, {"login": "other", "name": None}],
    "endpoints": {"api": "https://copilot-api.example.ghe.com"},
    "quota_reset_date": "2026-07-01",
    "quota_snapshots": {
        "chat": snapshot("chat"),
        "premium_interactions": snapshot(
            "premium_interactions", overage_permitted=True, percent_remaining=95.7, quota_remaining=3830.0,
            unlimited=False, remaining=3830, entitlement=4000,
        ),
    },
}  # fmt: skip


@pytest.mark.requirement("8:quotas")
def test_an_account_is_read() -> None:
    account = read_account(BUSINESS)

    assert (account.login, account.plan, account.chat_enabled) == ("octocat", "business", True)
    assert account.sku == "copilot_for_business_seat_quota"
    assert account.endpoint == "https://copilot-api.example.ghe.com"
    assert account.organizations == ("octo", "other")
    assert list(account.quotas) == [
        Quota(
            name="chat", unlimited=True, percent_remaining=100.0, overage_permitted=False, reset_at=JULY
        ),
        Quota(
            name="premium_interactions", unlimited=False, percent_remaining=95.7, entitlement=4000,
            remaining=3830.0, overage_permitted=True, reset_at=JULY,
        ),
    ]  # fmt: skip


@pytest.mark.requirement("8:quotas")
@pytest.mark.parametrize("bucket", [snapshot("chat", percent_remaining=0), snapshot("chat", entitlement=-1)])
def test_an_unlimited_quota_is_never_exhausted(bucket: dict[str, Any]) -> None:
    (quota,) = read_account({"quota_snapshots": {"chat": bucket}}).quotas

    assert quota.unlimited
    assert (quota.percent_remaining, quota.entitlement, quota.remaining) == (100.0, None, None)
    assert crossed_thresholds([], [quota]) == []


@pytest.mark.requirement("8:quotas")
def test_the_older_format_of_the_free_plan_is_read() -> None:
    account = read_account(
        {
            "copilot_plan": "free",
            "monthly_quotas": {"chat": 50, "completions": 2000, "odd": "x"},
            "limited_user_quotas": {"chat": 10, "completions": 2000},
            "limited_user_reset_date": "2026-07-01",
        }
    )

    assert [
        (q.name, q.percent_remaining, q.remaining, q.entitlement, q.reset_at) for q in account.quotas
    ] == [
        ("chat", 20.0, 10, 50, JULY),
        ("completions", 100.0, 2000, 2000, JULY),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"login": 7, "endpoints": [], "quota_snapshots": {"chat": 3, "x": {}}, "chat_enabled": "yes"},
        {
            "quota_snapshots": {
                "x": {"entitlement": "lots", "percent_remaining": None, "quota_reset_at": 1e99}
            }
        },
        {"monthly_quotas": [1], "limited_user_quotas": None, "organization_list": [None, 4, {"login": {}}]},
    ],
)
def test_unexpected_values_in_an_account_are_ignored(body: dict[str, Any]) -> None:
    account = read_account(body)

    assert (account.login, account.endpoint, account.chat_enabled) == (None, None, None)
    assert account.organizations == ()


@pytest.mark.requirement("8:quotas")
def test_quotas_are_read_from_headers() -> None:
    quotas = quotas_from_headers(
        {
            "x-quota-snapshot-chat": "ent=-1&ov=0.0&ovPerm=false&rem=100.0"
            "&rst=2026-07-01T00%3A00%3A00Z&totRem=-1",
            "X-Quota-Snapshot-Premium_Interactions": "ent=4000&ov=0.0&ovPerm=true&rem=95.7"
            "&rst=2026-07-01T00%3A00%3A00Z&totRem=3830.1",
            "x-quota-snapshot-older": "ent=300&ov=2&rem=50",
            "x-quota-snapshot-broken": "rem=&ent=x",
            "content-type": "text/plain",
        }
    )

    assert [(q.name, q.unlimited, q.percent_remaining, q.entitlement, q.remaining) for q in quotas] == [
        ("chat", True, 100.0, None, None),
        ("premium_interactions", False, 95.7, 4000, 3830.1),
        ("older", False, 50.0, 300, 150.0),
    ]
    assert [(q.overage_permitted, q.reset_at) for q in quotas] == [(False, JULY), (True, JULY), (None, None)]


@pytest.mark.requirement("8:quotas")
@pytest.mark.parametrize("first", ["premium_models", "premium_interactions"])
def test_the_new_name_of_a_quota_takes_precedence_over_the_old_one(first: str) -> None:
    values = {"premium_models": "ent=300&rem=40", "premium_interactions": "ent=300&rem=50"}
    names = sorted(values, key=lambda name: name != first)
    (both,) = quotas_from_headers({f"x-quota-snapshot-{name}": values[name] for name in names})
    (older,) = quotas_from_headers({"x-quota-snapshot-premium_models": "ent=300&rem=40"})

    assert (both.name, both.percent_remaining) == ("premium_interactions", 50.0)
    assert (older.name, older.percent_remaining) == ("premium_interactions", 40.0)


def quota(name: str, remaining: float) -> Quota:
    return Quota(name=name, unlimited=False, percent_remaining=remaining)


@pytest.mark.requirement("8:quotas")
@pytest.mark.parametrize(
    ("before", "after", "crossed"),
    [
        (30.0, 20.0, [80.0]),
        (20.0, 10.0, []),
        (20.0, 5.0, [95.0]),
        (30.0, 0.0, [100.0]),
        (0.0, 0.0, []),
        (5.0, 100.0, []),
        (None, 21.0, []),
        (None, 4.0, [95.0]),
        (1.0, -3.0, [100.0]),
    ],
)
def test_each_threshold_is_reported_once(before: float | None, after: float, crossed: list[float]) -> None:
    known = [] if before is None else [quota("a", before)]

    found = crossed_thresholds([*known, quota("b", 50)], [quota("a", after), quota("b", 50)])

    assert [threshold for _, threshold in found] == crossed
    assert all(each.name == "a" for each, _ in found)


def test_new_quotas_replace_known_ones_in_place() -> None:
    merged = merge_quotas([quota("a", 50), quota("b", 60)], [quota("c", 1), quota("a", 40)])

    assert [(each.name, each.percent_remaining) for each in merged] == [("a", 40), ("b", 60), ("c", 1)]


async def test_the_account_is_requested_with_the_github_token(
    http: HttpClient, hosts: GitHubHosts, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.json(BUSINESS), path="/copilot_internal/user")

    account = await fetch_account(http, hosts, TOKEN, source="file")

    assert account.login == "octocat"
    assert upstream.requests[0].headers["authorization"] == f"token {TOKEN.reveal()}"
    assert upstream.requests[0].headers["user-agent"].startswith("jumpseat/")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply.json({"message": "Bad credentials"}, 401), AuthenticationError),
        (Reply.raw(b"<html>hotel</html>", 200, "text/html"), ProtocolError),
        (Reply.json([1]), ProtocolError),
        (Reply.raw(b"cut off").reset_after(0), ConnectionError),
    ],
)
async def test_a_failure_is_reported_and_the_request_not_repeated(
    http: HttpClient, hosts: GitHubHosts, upstream: FakeUpstream, reply: Reply, kind: type[Exception]
) -> None:
    upstream.default(reply)

    with pytest.raises(kind):
        await fetch_account(http, hosts, TOKEN, source="file")
    assert len(upstream.requests) == 1
