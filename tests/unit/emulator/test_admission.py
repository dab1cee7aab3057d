"""The credentials that the emulator's data plane accepts, and the billing of requests."""

from urllib.parse import parse_qs

import pytest

from tests.emulator.credentials import OPEN_SOURCE_OAUTH_APP, PLUGIN_APP

UNVERIFIED = "unauthorized: unauthorized: AuthenticateToken authentication failed\n"


def refusal(answer):
    """Return the status and the text of a refusal, which must be plain text without quota headers."""
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert not [name for name in answer.headers if name.startswith("x-quota")]
    assert answer.headers["x-github-request-id"]
    return answer.status_code, answer.text


async def test_a_missing_and_a_bad_credential_have_different_messages(user):
    missing = await user.get("/models", authorization="")
    assert refusal(missing) == (400, "bad request: missing Authorization header\n")
    assert refusal(await user.get("/models", authorization="Bearer tid=1;exp=2:3")) == (401, UNVERIFIED)


async def test_copilot_tokens_can_all_expire_between_two_requests(user, emulator):
    assert (await user.chat("Hi")).status_code == 200
    emulator.expire_copilot_tokens()
    expired = await user.chat("Hi")
    assert refusal(expired) == (401, "IDE token expired: unauthorized: token expired\n")
    await user.exchange()
    assert (await user.chat("Hi")).status_code == 200
    emulator.clock.advance(1801)  # A Copilot token is valid for 1800 s.
    assert (await user.chat("Hi")).status_code == 401
    assert emulator.exchanges == 2


async def test_editor_version_is_required_only_with_copilot_tokens(user, emulator):
    missing = await user.get("/models", Editor_Version="")
    assert refusal(missing) == (400, "bad request: missing Editor-Version header for IDE auth\n")
    odd = await user.get("/models", Editor_Version="whatever")
    assert refusal(odd) == (400, "bad request: unknown Editor-Version header for IDE auth\n")
    emulator.state.unknown_editors.add("neovim")
    assert (await user.get("/models")).status_code == 400
    for client_id in (PLUGIN_APP, OPEN_SOURCE_OAUTH_APP):
        user.token = emulator.issue_token(client_id=client_id)
        assert (await user.get("/models", Editor_Version="", Copilot_Integration_Id="")).status_code == 200


async def test_personal_access_tokens_need_the_cli_and_its_permission(user, emulator):
    user.token = emulator.issue_token(kind="github_pat")
    status, text = refusal(await user.get("/models"))
    assert status == 400
    assert "Personal Access Tokens are not supported for this endpoint" in text
    assert (await user.get("/models", Copilot_Integration_Id="copilot-developer-cli")).status_code == 200
    user.token = emulator.issue_token(kind="github_pat", copilot_requests=False)
    answer = await user.get("/models", Copilot_Integration_Id="copilot-developer-cli")
    assert refusal(answer)[0] == 401
    user.token = emulator.issue_token(kind="ghp")
    answer = await user.get("/models", Copilot_Integration_Id="copilot-developer-cli")
    assert refusal(answer)[0] == 400


async def test_a_token_belongs_to_the_host_of_its_plan(user, emulator):
    question = {"messages": [{"role": "user", "content": "Hi"}]}
    here, there = emulator.plan_url("individual"), emulator.plan_url("business")
    assert (await user.post("/chat/completions", question, here)).status_code == 200
    misdirected = await user.post("/chat/completions", question, there)
    assert refusal(misdirected) == (421, "Misdirected Request\n")
    emulator.set_plan("business")
    # The old token belongs to the old host; a GitHub token follows the account.
    assert (await user.post("/chat/completions", question, there)).status_code == 421
    user.token = emulator.issue_token()
    assert (await user.post("/chat/completions", question, there)).status_code == 200
    assert (await user.post("/chat/completions", question, here)).status_code == 421
    assert emulator.token_kinds_seen_by("copilot-business") == {"copilot", "ghu"}
    assert emulator.token_kinds_seen_by("api") == {"ghu"}
    assert emulator.token_kinds_seen_by("telemetry") == set()


async def test_a_credential_is_recorded_in_every_part_of_a_request(user, emulator):
    token = emulator.issue_token()
    await user.http.get(f"{emulator.github_url}/login/device", params={"user_code": token})
    assert emulator.token_kinds_seen_by("github") == {"ghu"}


@pytest.mark.parametrize(
    ("blocked", "words"),
    [("access_revoked", "Terms of Service"), ("no_copilot_access", "not authorized to use this Copilot")],
)
async def test_an_account_that_lost_copilot_is_refused_in_mid_session(user, emulator, blocked, words):
    assert (await user.chat("Hi")).status_code == 200
    emulator.account().blocked = blocked
    status, text = refusal(await user.chat("Hi"))
    assert status == 403
    assert words in text


async def test_only_requests_with_the_initiator_user_are_charged_by_the_multiplier(user, emulator):
    premium = emulator.account().premium
    await user.chat("Hi", "gpt-4.1", X_Initiator="user")
    assert premium.remaining == 300
    await user.chat("Hi", "claude-sonnet-4.6", X_Initiator="agent")
    assert premium.remaining == 300
    await user.chat("Hi", "claude-sonnet-4.6", X_Initiator="user")
    await user.chat("Hi", "o4-mini", X_Initiator="user")
    assert premium.remaining == pytest.approx(298.67)
    await user.chat("Hi", "claude-sonnet-4.6")
    assert premium.remaining == pytest.approx(297.67)
    assert [charge.cost for charge in emulator.charges] == [0, 0, 1, 0.33, 1]


async def test_quota_headers_show_the_quota_before_the_request(user):
    def remaining(answer):
        return parse_qs(answer.headers["x-quota-snapshot-premium_interactions"])["totRem"]

    first, second = [await user.chat("Hi", "claude-sonnet-4.6") for _ in range(2)]
    assert (remaining(first), remaining(second)) == (["300.0"], ["299.0"])
    chat = parse_qs(first.headers["x-quota-snapshot-chat"])
    assert (chat["ent"], chat["totRem"], chat["rem"]) == (["-1"], ["-1"], ["100.0"])
    assert chat["rst"][0].endswith("-01T00:00:00Z")
    assert not [name for name in (await user.get("/models")).headers if name.startswith("x-quota")]


async def test_an_exhausted_quota_refuses_only_charged_requests_without_overage(user, emulator):
    emulator.account().premium.remaining = 0
    refused = await user.chat("Hi", "claude-sonnet-4.6")
    assert refusal(refused)[0] == 402
    assert refused.json()["error"] == {"message": "You have no quota", "code": "quota_exceeded"}
    assert refused.headers["retry-after"].endswith("GMT")
    assert (await user.chat("Hi", "gpt-4.1")).status_code == 200
    assert (await user.chat("Hi", "claude-sonnet-4.6", X_Initiator="agent")).status_code == 200
    emulator.account().premium.overage_permitted = True
    assert (await user.chat("Hi", "claude-sonnet-4.6")).status_code == 200
    assert emulator.account().premium.overage == 1


async def test_the_free_plan_runs_out_of_chats(user, emulator):
    emulator.set_plan("free")
    emulator.account().buckets["chat"].remaining = 1
    await user.exchange()
    assert (await user.chat("Hi", "gpt-4.1")).status_code == 200
    assert (await user.chat("Hi", "gpt-4.1")).status_code == 402


async def test_the_request_id_is_returned_and_a_ping_needs_no_credential(user):
    assert (await user.get("/models", X_Request_Id="mine")).headers["x-request-id"] == "mine"
    assert len((await user.get("/models")).headers["x-request-id"]) == 32
    assert (await user.http.get(f"{user.emulator.copilot_url}/_ping")).status_code == 200
