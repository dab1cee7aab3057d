"""Notifications of the Copilot language server about limits."""

from datetime import UTC, datetime

import pytest

from jumpseat.adapters.github.language_server.notices import Notice, notice_in

RATE = "$/copilot/rateLimitWarning"
pytestmark = pytest.mark.requirement("language-server:limits")


def limit(left, reset="2026-12-01T10:00:00Z"):
    numbers = {"entitlement": 100, "percentRemaining": left, "resetDate": reset}
    return {"type": "weekly", "rateLimit": numbers, "message": "You've used it."}


def test_a_limit_that_is_near_is_reported_without_a_date():
    assert notice_in(RATE, limit(25.0)) == Notice("You've used it.")


@pytest.mark.parametrize(
    "reset", ["2026-12-01T10:00:00Z", "2026-12-01T10:00:00", "2026-12-01T11:00:00+01:00"]
)
def test_a_used_up_limit_has_its_reset_time(reset):
    notice = notice_in(RATE, limit(0, reset))

    assert notice == Notice("You've used it.", datetime(2026, 12, 1, 10, tzinfo=UTC))


# The last of these dates lies in the year 10000 in UTC, which Python cannot represent.
@pytest.mark.parametrize("reset", ["soon", "", None, True, "9999-12-31T23:59:59-23:59"])
def test_an_invalid_date_is_dropped(reset):
    assert notice_in(RATE, limit(0, reset)) == Notice("You've used it.")


@pytest.mark.parametrize("left", [None, "0", False])
def test_a_limit_without_a_numeric_percentage_is_not_used_up(left):
    assert notice_in(RATE, limit(left)) == Notice("You've used it.")


def test_a_quota_warning_is_reported_in_one_line():
    assert notice_in("copilot/quotaWarning", {"message": "75%\nused", "severity": "info"}) == Notice(
        "75% used"
    )


@pytest.mark.requirement("language-server:no-secrets")
def test_a_notice_does_not_show_a_token():
    notice = notice_in("copilot/quotaWarning", {"message": "gho_abcdefghijklmnop1234 has used it"})

    assert notice == Notice("*** has used it")


@pytest.mark.parametrize(
    ("method", "params"),
    [("didChangeStatus", {"message": "x"}), (RATE, None), (RATE, {}), (RATE, {"message": " "}), (RATE, [1])],
)
def test_any_other_notification_is_not_a_notice(method, params):
    assert notice_in(method, params) is None
