"""The emulator's REST plane: the exchange, plan and quotas, and the refusals."""

import re

import pytest

from tests.emulator.credentials import CLI_OAUTH_APP, OPEN_SOURCE_OAUTH_APP, PLUGIN_APP

EXCHANGE = "/copilot_internal/v2/token"


@pytest.mark.parametrize("scheme", ["token", "Bearer", "bearer"])
async def test_a_token_is_exchanged_under_any_scheme(visitor, emulator, scheme):
    answer = await visitor.rest(EXCHANGE, emulator.issue_token(), scheme)
    assert answer.status_code == 200
    body = answer.json()
    assert re.fullmatch(r"(?:[\w-]+=[^;]*;)+[\w-]+=[^;:]*:[0-9a-f]{64}", body["token"])
    assert f";exp={body['expires_at']};" in body["token"]
    assert body["expires_at"] == pytest.approx(emulator.clock.now() + 1800, abs=5)
    assert body["refresh_in"] == 1500
    assert body["endpoints"]["api"] == emulator.plan_url("individual")
    assert answer.headers["x-oauth-client-id"] == PLUGIN_APP
    assert answer.headers["x-ratelimit-remaining"] == "14999"
    assert emulator.exchanges == 1


async def test_only_apps_on_the_list_may_exchange(visitor, emulator):
    token = emulator.issue_token(client_id=OPEN_SOURCE_OAUTH_APP)
    assert (await visitor.rest(EXCHANGE, token)).status_code == 404
    emulator.credentials.exchange_apps.add(CLI_OAUTH_APP)
    assert (await visitor.rest(EXCHANGE, emulator.issue_token(client_id=CLI_OAUTH_APP))).status_code == 200
    for kind in ("github_pat", "ghp"):
        refused = await visitor.rest(EXCHANGE, emulator.issue_token(kind=kind))
        assert refused.status_code == 403
        assert refused.json()["message"] == "Resource not accessible by personal access token"
    assert emulator.exchanges == 1


async def test_an_invalid_token_is_refused(visitor, emulator):
    token = emulator.issue_token()
    copilot = await visitor.exchange(token)
    emulator.revoke(token)
    for bad in ("ghu_unknown", token, copilot):
        answer = await visitor.rest(EXCHANGE, bad)
        assert answer.status_code == 401
        assert answer.json()["message"] == "Bad credentials"
        assert answer.headers["x-ratelimit-limit"] == "60"
        assert re.fullmatch(r"([0-9A-F]{4}:){3}[0-9A-F]{4}", answer.headers["x-github-request-id"])
    assert (await visitor.rest(EXCHANGE)).status_code == 401


async def test_an_account_without_copilot_gets_a_notification_or_a_404(visitor, emulator):
    token = emulator.issue_token()
    emulator.account().blocked = "no_copilot_access"
    for path in (EXCHANGE, "/copilot_internal/user"):
        answer = await visitor.rest(path, token)
        assert answer.status_code == 403
        assert answer.json()["error_details"]["notification_id"] == "no_copilot_access"
        assert "octocat" in answer.json()["error_details"]["message"]
    emulator.account().invisible = True
    for path in (EXCHANGE, "/copilot_internal/user"):
        assert (await visitor.rest(path, token)).status_code == 404


async def test_requests_beyond_the_rate_limit_are_a_403(visitor, emulator):
    emulator.account().rest_remaining = 1
    token = emulator.issue_token()
    assert (await visitor.rest("/user", token)).status_code == 200
    limited = await visitor.rest("/user", token)
    assert limited.status_code == 403
    assert limited.json()["message"].startswith("API rate limit exceeded for user ID")
    assert limited.headers["x-ratelimit-remaining"] == "0"


async def test_a_post_to_the_exchange_and_a_request_without_a_user_agent_are_refused(visitor, emulator):
    url, headers = f"{emulator.api_url}{EXCHANGE}", {"Authorization": f"token {emulator.issue_token()}"}
    assert (await visitor.http.post(url, headers=headers)).status_code == 404
    request = visitor.http.build_request("GET", url, headers=headers)
    del request.headers["user-agent"]
    assert (await visitor.http.send(request)).status_code == 403
    assert emulator.exchanges == 0
