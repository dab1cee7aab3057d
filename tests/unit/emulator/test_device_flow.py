"""The emulator's sign-in departs from RFC 8628 in the same ways as GitHub does."""

from urllib.parse import parse_qs

from tests.emulator.credentials import PLUGIN_APP


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
