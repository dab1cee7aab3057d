"""Accounts, their plans and their monthly quotas.

They follow `copilot_plan`, `sku` and the quota snapshots of GET /copilot_internal/user and of the
x-quota-snapshot-* headers.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.emulator.clock import Clock


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan. A quota of None is unlimited."""

    name: str
    sku: str
    tier: str
    """The plan's name in `restricted_to` of a model row."""
    host: str
    """The data host for the plan."""
    premium: int | None
    chat: int | None = None
    completions: int | None = None
    overage_permitted: bool = False

    @property
    def individual(self) -> bool:
        """Whether it is a person's own plan."""
        return self.host == "individual"


PLANS = {
    plan.name: plan
    for plan in (
        Plan("free", "free_limited_copilot", "free", "individual", premium=50, chat=50, completions=2000),
        Plan("individual", "monthly_subscriber_quota", "pro", "individual", premium=300),
        Plan("individual_pro", "plus_monthly_subscriber_quota", "pro_plus", "individual", premium=1500),
        Plan("business", "copilot_for_business_seat_quota", "business", "business", premium=300),
        Plan(
            "enterprise",
            "copilot_enterprise_seat_quota",
            "enterprise",
            "enterprise",
            premium=1000,
            overage_permitted=True,
        ),
    )
}


@dataclass(slots=True)
class Bucket:
    """A monthly quota."""

    name: str
    entitlement: int | None
    remaining: float = 0.0
    overage_permitted: bool = False
    overage: float = 0.0

    @property
    def unlimited(self) -> bool:
        return self.entitlement is None

    @property
    def percent_remaining(self) -> float:
        """The remaining percentage, which is 100 for an unlimited quota."""
        return 100.0 if not self.entitlement else round(100 * self.remaining / self.entitlement, 1)

    def can_pay(self, cost: float) -> bool:
        """Return whether a request is allowed. Its cost may exceed what remains, unless nothing remains."""
        return self.unlimited or not cost or self.overage_permitted or self.remaining > 0

    def charge(self, cost: float) -> None:
        """Subtract the cost of a request."""
        if self.unlimited:
            return
        self.overage += max(0.0, cost - self.remaining)
        self.remaining = max(0.0, self.remaining - cost)

    def header(self, reset: str) -> str:
        """Return the value of this bucket's x-quota-snapshot header."""
        return urlencode(
            {
                "ent": -1 if self.entitlement is None else self.entitlement,
                "ov": float(self.overage),
                "ovPerm": str(self.overage_permitted).lower(),
                "rem": self.percent_remaining,
                "rst": reset,
                "totRem": -1 if self.unlimited else float(self.remaining),
            }
        )

    def snapshot(self, timestamp: str) -> dict[str, Any]:
        """Return the bucket's entry in `quota_snapshots`. The entry of an unlimited quota says 0 of 0."""
        return {
            "overage_count": self.overage,
            "overage_entitlement": 0,
            "overage_permitted": self.overage_permitted,
            "percent_remaining": self.percent_remaining,
            "quota_id": self.name,
            "quota_remaining": float(self.remaining),
            "unlimited": self.unlimited,
            "timestamp_utc": timestamp,
            "has_quota": self.unlimited or self.remaining > 0,
            "quota_reset_at": 0,
            "token_based_billing": False,
            "remaining": int(self.remaining),
            "entitlement": self.entitlement or 0,
        }


@dataclass(slots=True)
class Account:
    """A GitHub user.

    `blocked` is the `notification_id` with which Copilot refuses the user (`no_copilot_access`,
    `access_revoked`, ...). `invisible` makes the endpoints answer 404.
    """

    login: str
    id: int
    plan: Plan
    blocked: str | None = None
    invisible: bool = False
    chat_enabled: bool = True
    old_free_shape: bool = False
    """Whether /copilot_internal/user answers as older servers do for the free plan."""
    policies: dict[str, str] = field(default_factory=dict)
    """The policies that differ from the catalogue (`enabled` or `disabled`), by model."""
    buckets: dict[str, Bucket] = field(default_factory=dict)
    rest_remaining: int = 15000
    tracking_id: str = field(default_factory=lambda: secrets.token_hex(16))

    def give_month(self) -> None:
        """Start a new month with the full quotas of the plan."""
        wanted = {
            "chat": (self.plan.chat, False),
            "completions": (self.plan.completions, False),
            "premium_interactions": (self.plan.premium, self.plan.overage_permitted),
        }
        self.buckets = {
            name: Bucket(name, entitlement, float(entitlement or 0), overage)
            for name, (entitlement, overage) in wanted.items()
        }

    @property
    def premium(self) -> Bucket:
        return self.buckets["premium_interactions"]

    def quota_headers(self, clock: Clock) -> dict[str, str]:
        """Return the current x-quota-snapshot headers."""
        reset = clock.first_of_next_month().strftime("%Y-%m-%dT%H:%M:%SZ")
        return {f"x-quota-snapshot-{name}": bucket.header(reset) for name, bucket in self.buckets.items()}


class Accounts:
    """The accounts of the emulated service."""

    def __init__(self) -> None:
        self._by_login: dict[str, Account] = {}

    def add(self, login: str, plan: str = "individual", **state: Any) -> Account:
        """Add an account with the full quota of a month. `state` sets attributes of `Account`."""
        account = Account(login, 1000 + len(self._by_login), PLANS[plan], **state)
        account.give_month()
        self._by_login[login] = account
        return account

    def find(self, account: Account | str) -> Account:
        """Return the account itself, or the account with this login.

        Raises:
            KeyError: there is no such account.
        """
        return account if isinstance(account, Account) else self._by_login[account]

    def logins(self) -> list[str]:
        """Return the logins in the order in which they were added."""
        return list(self._by_login)
