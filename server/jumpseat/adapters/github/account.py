"""A GitHub account: its login, plan, data host and quotas.

Owns `GET /copilot_internal/user`, and the quota headers of the data plane (the host of Copilot's API).
The shapes come from recorded responses, except that the older form of the free plan's quotas comes from
open-source clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

import jumpseat
from jumpseat.adapters.base.account import Quota
from jumpseat.adapters.github.errors import error_from_github, not_json_error
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.chat import ConnectionError, RequestError
from jumpseat.dialects.loose_values import mapping_in, moment_in, text_in
from jumpseat.http import HttpAnswer, HttpCall, HttpClient, fetch
from jumpseat.system.secrets import Secret

REST_SECONDS = 15.0
"""The time limit of a request to the REST host. A chat may be waiting for the response."""

CURRENCY = "AIU"
"""The unit of Copilot's prices, "AI units"."""

SNAPSHOT_HEADER = "x-quota-snapshot-"
_OLDER_NAMES = {"premium_models": "premium_interactions"}
"""The former names of quotas, which some responses still use, with the current names."""

THRESHOLDS = (80.0, 95.0, 100.0)
"""Percentages of use at which a quota is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """The facts of an account. A field is None if the response lacks it."""

    login: str | None = None
    plan: str | None = None
    """`free`, `individual`, `individual_pro`, `business`, `enterprise`, or another value."""

    sku: str | None = None
    chat_enabled: bool | None = None
    endpoint: str | None = None
    """The unchecked value of `endpoints.api`; `GitHubHosts.data_host` checks it."""

    organizations: Sequence[str] = ()
    quotas: Sequence[Quota] = ()


async def fetch_account(http: HttpClient, hosts: GitHubHosts, token: Secret, *, source: str) -> AccountFacts:
    """Request the account from GitHub, without retries.

    Args:
        http: the client to send the request with.
        hosts: the hosts to ask.
        token: the GitHub token, never the short-lived Copilot token.
        source: the source of the sign-in, for error messages.

    Raises:
        ChatError: GitHub refused the request (see `error_from_github`) or cannot be reached.
    """
    url = f"{hosts.api}/copilot_internal/user"
    answer = await ask_github(http, hosts, url, token)
    if answer.status >= 400:
        raise error_from_github(answer, hosts, url=url, source=source)
    try:
        body = answer.json()
    except ValueError:
        raise not_json_error(hosts) from None
    if not isinstance(body, dict):
        raise not_json_error(hosts)
    return read_account(body)


async def ask_github(
    http: HttpClient, hosts: GitHubHosts, url: str, token: Secret, headers: Mapping[str, str] | None = None
) -> HttpAnswer:
    """Send one GET request to the REST host, limited to `REST_SECONDS`.

    Raises:
        ChatError: the host cannot be reached, or it redirects.
    """
    sent = {
        "accept": "application/json",
        "user-agent": f"jumpseat/{jumpseat.__version__}",
        **{name.lower(): value for name, value in (headers or {}).items()},
        "authorization": f"token {token.reveal()}",
    }
    try:
        async with asyncio.timeout(REST_SECONDS):
            return await fetch(
                http, HttpCall("GET", url, sent, timeout=REST_SECONDS), provider=hosts.provider
            )
    except TimeoutError:
        raise ConnectionError(
            f"{hosts.authority} did not answer in {REST_SECONDS:g} s.", provider=hosts.provider
        ) from None
    except RequestError as error:
        if error.status_code is not None and 300 <= error.status_code < 400:
            error.hint = f"Set providers.{hosts.provider}.api_url to the URL that serves the REST API."
        raise


def read_account(body: Mapping[str, Any]) -> AccountFacts:
    """Parse a response of `/copilot_internal/user`, ignoring values of an unexpected type."""
    endpoints = mapping_in(body.get("endpoints"))
    chat = body.get("chat_enabled")
    organizations = [
        text_in(each.get("login") if isinstance(each, dict) else each)
        for rows in map(body.get, ("organization_list", "organization_login_list"))
        for each in (rows if isinstance(rows, list) else ())
    ]
    return AccountFacts(
        login=text_in(body.get("login")) or None,
        plan=text_in(body.get("copilot_plan")) or None,
        sku=text_in(body.get("access_type_sku")) or None,
        chat_enabled=chat if isinstance(chat, bool) else None,
        endpoint=text_in(endpoints.get("api")) or None,
        organizations=tuple(dict.fromkeys(name for name in organizations if name)),
        quotas=tuple(_read_quotas(body)),
    )


def _read_quotas(body: Mapping[str, Any]) -> list[Quota]:
    reset = moment_in(body.get("quota_reset_date_utc")) or moment_in(body.get("quota_reset_date"))
    snapshots = mapping_in(body.get("quota_snapshots"))
    if snapshots:
        return [
            _read_snapshot(name, mapping_in(row), reset) for name, row in snapshots.items() if mapping_in(row)
        ]
    # The older form of the free plan has totals in one table and remaining amounts in another.
    totals, left = mapping_in(body.get("monthly_quotas")), mapping_in(body.get("limited_user_quotas"))
    reset = moment_in(body.get("limited_user_reset_date")) or reset
    quotas = []
    for name, value in totals.items():
        total, remaining = _number(value), _number(left.get(name))
        if total is None or remaining is None:
            continue
        percent = 100.0 * remaining / total if total > 0 else 0.0
        quotas.append(
            Quota(
                name=str(name),
                unlimited=False,
                percent_remaining=percent,
                entitlement=total,
                remaining=remaining,
                overage_permitted=False,
                reset_at=reset,
            )
        )
    return quotas


def _read_snapshot(name: str, row: Mapping[str, Any], reset: datetime | None) -> Quota:
    entitlement = _number(row.get("entitlement"))
    unlimited = row.get("unlimited") is True or entitlement == -1
    remaining = _number(row.get("quota_remaining"))
    if remaining is None:
        remaining = _number(row.get("remaining"))
    percent = _number(row.get("percent_remaining"))
    if percent is None:
        percent = 100.0 * remaining / entitlement if remaining is not None and entitlement else 100.0
    overage = row.get("overage_permitted")
    # The zeros of an unlimited quota are placeholders, not amounts.
    return Quota(
        name=str(name),
        unlimited=unlimited,
        percent_remaining=100.0 if unlimited else percent,
        entitlement=None if unlimited else entitlement,
        remaining=None if unlimited else remaining,
        overage_permitted=overage if isinstance(overage, bool) else None,
        reset_at=moment_in(row.get("quota_reset_at")) or reset,
    )


def quotas_from_headers(headers: Mapping[str, str]) -> list[Quota]:
    """Return the quotas in the headers of a data plane response.

    Each value is URL-encoded: `ent` (-1: unlimited), `ov`, `ovPerm`, `rem` (percent), `rst`, `totRem`.
    """
    found: dict[str, Quota] = {}
    # Former names come first so that the quota under the current name replaces them.
    for header, value in sorted(headers.items(), key=lambda item: not _has_older_name(item[0])):
        if not header.lower().startswith(SNAPSHOT_HEADER):
            continue
        name = header[len(SNAPSHOT_HEADER) :].lower()
        name = _OLDER_NAMES.get(name, name)
        fields = {key: values[-1] for key, values in parse_qs(value).items()}
        percent, entitlement = _number(fields.get("rem")), _number(fields.get("ent"))
        if percent is None or entitlement is None:
            continue
        unlimited = entitlement == -1
        remaining = _number(fields.get("totRem"))
        if remaining is None or remaining < 0:
            remaining = entitlement * percent / 100
        found[name] = Quota(
            name=name,
            unlimited=unlimited,
            percent_remaining=100.0 if unlimited else percent,
            entitlement=None if unlimited else entitlement,
            remaining=None if unlimited else remaining,
            overage_permitted=fields["ovPerm"] == "true" if "ovPerm" in fields else None,
            reset_at=moment_in(fields.get("rst")),
        )
    return list(found.values())


def _has_older_name(header: str) -> bool:
    return header.lower().removeprefix(SNAPSHOT_HEADER) in _OLDER_NAMES


def merge_quotas(before: Sequence[Quota], after: Sequence[Quota]) -> list[Quota]:
    """Return the earlier quotas in their order, with updated values, followed by the new ones."""
    fresh = {quota.name: quota for quota in after}
    kept = [fresh.pop(quota.name, quota) for quota in before]
    return [*kept, *fresh.values()]


def crossed_thresholds(before: Sequence[Quota], after: Sequence[Quota]) -> list[tuple[Quota, float]]:
    """Return the quotas that have passed one of `THRESHOLDS`, each with the highest threshold passed."""
    # A quota without an earlier value counts as previously unused, so that it is reported if it is used up.
    used_before = {quota.name: _used_percent(quota) for quota in before}
    crossed = []
    for quota in after:
        was, now = used_before.get(quota.name, 0.0), _used_percent(quota)
        passed = [threshold for threshold in THRESHOLDS if was < threshold <= now]
        if passed:
            crossed.append((quota, passed[-1]))
    return crossed


def _used_percent(quota: Quota) -> float:
    return 0.0 if quota.unlimited else 100.0 - quota.percent_remaining


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if -1e15 < number < 1e15 else None
