"""The emulator's sign-in, including GitHub's departures from RFC 8628."""

from urllib.parse import parse_qs

import pytest

from tests.emulator.credentials import CLI_OAUTH_APP, OPEN_SOURCE_OAUTH_APP, PLUGIN_APP


async def test_a_code_is_pending_until_it_is_approved_and_used_up_after_that(visitor, emulator):
    begun = await visitor.start()
    assert begun["verification_uri"] == f"{emulator.github_url}/login/device"
    assert (begun["expires_in"], begun["interval"]) == (899, 5)
    assert (await visitor.poll(begun["device_code"]))["error"] == "authorization_pending"
    emulator.approve(begun["user_code"])
    granted = await visitor.poll(begun["device_code"])
    assert (granted["token_type"], granted["scope"]) == ("bearer", "")
    who = await visitor.rest("/user", granted["access_token"])
    assert who.json()["login"] == "octocat"
    assert (await visitor.poll(begun["device_code"]))["error"] == "incorrect_device_code"


@pytest.mark.parametrize(
    ("client_id", "prefix", "scope"),
    [
        (PLUGIN_APP, "ghu_", ""),
        (OPEN_SOURCE_OAUTH_APP, "gho_", "read:user"),
        (CLI_OAUTH_APP, "gho_", "read:user"),
    ],
)
async def test_the_prefix_of_a_token_follows_the_app(visitor, emulator, client_id, prefix, scope):
    begun = await visitor.start(client_id)
    emulator.approve(begun["user_code"])
    granted = await visitor.poll(begun["device_code"], client_id)
    assert granted["access_token"].startswith(prefix)
    assert granted["scope"] == scope


async def test_polling_too_fast_makes_the_interval_longer_each_time(visitor, emulator):
    begun = await visitor.start()
    code = begun["device_code"]
    assert (await visitor.poll(code, after=0))["error"] == "authorization_pending"
    slower = await visitor.poll(code, after=3)
    assert (slower["error"], slower["interval"]) == ("slow_down", 10)
    assert (await visitor.poll(code, after=6))["interval"] == 15
    emulator.approve(begun["user_code"])
    # Approval does not help a client that polls too fast.
    assert (await visitor.poll(code, after=6))["error"] == "slow_down"
    assert "access_token" in await visitor.poll(code, after=20)


async def test_a_test_may_shorten_the_interval(visitor, emulator):
    emulator.devices.interval = 0.01
    begun = await visitor.start()
    assert begun["interval"] == 0.01
    for _ in range(3):
        assert (await visitor.poll(begun["device_code"], after=0.01))["error"] == "authorization_pending"


async def test_a_code_expires_by_the_clock_and_by_hand(visitor, emulator):
    first, second = await visitor.start(), await visitor.start()
    emulator.expire(second["user_code"])
    assert (await visitor.poll(second["device_code"]))["error"] == "expired_token"
    assert (await visitor.poll(first["device_code"], after=900))["error"] == "expired_token"


async def test_a_denied_code_and_wrong_fields_are_refused_with_status_200(visitor, emulator):
    begun = await visitor.start()
    code = begun["device_code"]
    refused = await visitor.poll(code, CLI_OAUTH_APP)
    assert refused["error"] == "incorrect_client_credentials"
    assert (await visitor.poll(code, "Iv1.unknown"))["error"] == "incorrect_client_credentials"
    assert (await visitor.poll(code, grant_type="password"))["error"] == "unsupported_grant_type"
    assert (await visitor.poll("0" * 40))["error"] == "incorrect_device_code"
    emulator.deny(begun["user_code"])
    denied = await visitor.poll(code)
    assert denied["error"] == "access_denied"
    assert denied["error_uri"].startswith("https://docs.github.com/")


async def test_an_app_may_be_refused(visitor, emulator):
    emulator.devices.refused_apps.add(PLUGIN_APP)
    assert (await visitor.start())["error"] == "device_flow_disabled"


async def test_a_request_without_accept_json_gets_a_form_encoded_answer(visitor, emulator):
    answer = await visitor.http.post(
        f"{emulator.github_url}/login/device/code", data={"client_id": PLUGIN_APP, "scope": ""}
    )
    assert answer.headers["content-type"].startswith("application/x-www-form-urlencoded")
    assert len(parse_qs(answer.text)["device_code"][0]) == 40


async def test_a_person_approves_or_denies_on_the_page(visitor, emulator):
    page = f"{emulator.github_url}/login/device"
    begun, other = await visitor.start(), await visitor.start()
    shown = await visitor.http.get(page, params={"user_code": '"><script>'})
    assert "octocat" in shown.text
    assert "<script>" not in shown.text
    fields = {"user_code": begun["user_code"].lower(), "login": "octocat", "decision": "approve"}
    assert (await visitor.http.post(page, data=fields)).status_code == 200
    assert "access_token" in await visitor.poll(begun["device_code"])
    fields = {"user_code": other["user_code"], "decision": "deny"}
    assert (await visitor.http.post(page, data=fields)).status_code == 200
    assert (await visitor.poll(other["device_code"]))["error"] == "access_denied"
    assert (await visitor.http.post(page, data=fields)).status_code == 404
