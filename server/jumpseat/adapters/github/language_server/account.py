"""Parses the language server's reports about the account: state, login, plan, quotas. Pure functions.

Source of the shapes: version 1.539 of the server, in its responses to `checkStatus` and `checkQuota`, and in
its notifications `didChangeStatus/v2` and `copilot/quotaChange`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jumpseat.adapters.base.account import AuthState, Quota
from jumpseat.adapters.github.language_server.words import clean_text
from jumpseat.dialects.loose_values import moment_in, number_in

_STATES: Mapping[str, AuthState] = {
    "OK": "signed_in",
    "AlreadySignedIn": "signed_in",
    "MaybeOK": "signed_in",
    "NotSignedIn": "signed_out",
    "NotAuthorized": "not_authorized",
    "FailedToGetToken": "expired",
}

_QUOTAS = (
    ("chat", ("chat",)),
    ("completions", ("completions",)),
    ("premium_interactions", ("premiumInteractions", "premium_interactions")),
)
"""Each quota's name in jumpseat, and the server's names for it, the newer one first."""

_SAYS_THE_STATE = re.compile(
    r"^(?:you are not signed in|your github copilot session has expired|no access to github copilot)", re.I
)
"""Matches sentences that only repeat the state. They are not shown."""


@dataclass(frozen=True, slots=True)
class SignInReport:
    """The server's report about its sign-in."""

    state: AuthState
    login: str | None = None
    words: str = ""
    """The reason why the sign-in cannot be used, in the server's words or ours."""

    is_checked_with_github: bool = True
    """Whether the server has checked the sign-in with GitHub, rather than only read it from disk."""


def read_sign_in(answer: Any, notice: Mapping[str, Any] | None = None) -> SignInReport:
    """Parse `{status, user?}`.

    Args:
        answer: the result of a request about the sign-in, or the `result` in a row of a notification.
        notice: for a notification, the row that contains `answer`: `{message?, askToReSignin?}`.
    """
    fields = answer if isinstance(answer, Mapping) else {}
    row = notice or {}
    status, user = fields.get("status"), fields.get("user")
    login = user if isinstance(user, str) and user else None
    state = _STATES.get(status) if isinstance(status, str) else None
    if state is None:
        return SignInReport("signed_out", words=f"The server reports an unknown state, {str(status)[:40]!r}.")
    if status == "MaybeOK" and login is None:
        return SignInReport(
            "signed_out", words="The server does not report an account.", is_checked_with_github=False
        )
    if state == "signed_in":
        return SignInReport(state, login, is_checked_with_github=status != "MaybeOK")
    if state == "signed_out" and row.get("askToReSignin") is True:
        state = "expired"
    message = row.get("message")
    words = clean_text(message) if isinstance(message, str) else ""
    return SignInReport(state, login, "" if _SAYS_THE_STATE.search(words) else words)


def read_plan(answer: Mapping[str, Any]) -> str | None:
    """Return the plan's name; None if the response has none."""
    plan = answer.get("copilotPlan")
    return plan if isinstance(plan, str) and plan else None


def read_quotas(answer: Mapping[str, Any]) -> list[Quota]:
    """Return the quotas in a response or a notification, without unreadable ones."""
    reset_at = moment_in(answer.get("resetDate"))
    found = []
    for name, spellings in _QUOTAS:
        rows = (answer.get(each) for each in spellings)
        row: Mapping[str, Any] = next((each for each in rows if isinstance(each, Mapping)), {})
        percent, unlimited = number_in(row.get("percentRemaining")), row.get("unlimited") is True
        if percent is None and not unlimited:
            continue
        total, used = number_in(row.get("quota")), number_in(row.get("used"))
        overage = row.get("overagePermitted", row.get("overageEnabled"))
        # The numbers of an unlimited quota are not amounts.
        found.append(
            Quota(
                name=name,
                unlimited=unlimited,
                percent_remaining=100.0 if unlimited or percent is None else percent,
                entitlement=None if unlimited else total,
                remaining=None if unlimited or total is None or used is None else max(total - used, 0.0),
                overage_permitted=overage if isinstance(overage, bool) else None,
                reset_at=reset_at,
            )
        )
    return found
