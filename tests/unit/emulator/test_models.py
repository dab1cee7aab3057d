"""The emulator's models: rows, policies, auto mode, embeddings."""

import pytest

from tests.emulator.builtin_models import BROKEN_ROW


async def rows(user, version="2025-05-01", **headers):
    answer = await user.get("/models", X_GitHub_Api_Version=version, **headers)
    assert answer.status_code == 200
    return {row["id"]: row for row in answer.json()["data"]}


async def test_the_api_version_decides_the_shape_of_billing(user):
    old = (await rows(user))["claude-sonnet-4.6"]["billing"]
    assert (old["is_premium"], old["multiplier"]) == (True, 1)
    assert "token_prices" not in old
    new = (await rows(user, "2026-06-01"))["claude-sonnet-4.6"]["billing"]
    assert "multiplier" not in new
    assert new["token_prices"]["batch_size"] == 1_000_000
    assert new["token_prices"]["default"]["input_price"] == 330
    assert new["restricted_to"] == old["restricted_to"]


async def test_there_is_a_row_of_every_kind(user, emulator):
    listed = await rows(user)
    assert "supported_endpoints" not in listed["gpt-4.1"]
    assert "limits" not in listed["text-embedding-ada-002"]["capabilities"]
    assert listed["gpt-4o-mini"]["name"] == listed["gpt-4o-mini-2024-07-18"]["name"]
    assert listed["claude-opus-4.7"]["policy"]["state"] == "disabled"
    assert listed["claude-sonnet-4.6"]["warning_messages"][0]["code"] == "model_degraded_github"
    assert listed["gemini-2.5-pro"]["info_messages"][0]["code"] == "model_pending_deprecation"
    assert [row["id"] for row in listed.values() if row["is_chat_default"]] == ["gpt-4.1"]
    assert {row["capabilities"]["type"] for row in listed.values()} == {"chat", "embeddings", "completion"}
    emulator.models.models.append(BROKEN_ROW)
    assert (await rows(user))["broken-row"]["capabilities"] is None


async def test_a_change_in_one_emulator_does_not_affect_another(emulator):
    from tests.emulator import CopilotEmulator

    emulator.models["gpt-4.1"].quirks.add("no_done")
    emulator.models["gpt-4.1"].limits["max_prompt_tokens"] = 1
    fresh = CopilotEmulator().models["gpt-4.1"]
    assert fresh.quirks == set()
    assert fresh.limits["max_prompt_tokens"] == 64_000


@pytest.mark.parametrize("key", ["state", "status"])
async def test_terms_must_be_accepted_once_as_either_of_githubs_clients_does(user, key):
    refused = await user.chat("Hi", "claude-haiku-4.5")
    assert refused.json()["error"]["code"] == "model_not_supported"
    accepted = await user.post("/models/claude-haiku-4.5/policy", {key: "enabled"})
    assert accepted.status_code == 200
    assert (await rows(user))["claude-haiku-4.5"]["policy"]["state"] == "enabled"
    assert (await user.chat("Hi", "claude-haiku-4.5")).status_code == 200
    assert (await user.post("/models/gpt-4o/policy", {"state": "enabled"})).status_code == 400


async def test_accepting_terms_outside_the_plan_is_answered_and_changes_nothing(user):
    accepted = await user.post("/models/claude-opus-4.7/policy", {"state": "enabled"})
    assert accepted.status_code == 200
    row = (await rows(user))["claude-opus-4.7"]
    assert (row["policy"]["state"], row["model_picker_enabled"]) == ("disabled", False)
    assert (await user.chat("Hi", "claude-opus-4.7")).status_code == 400


@pytest.mark.parametrize(
    ("model", "path", "code"),
    [
        ("gpt-5.3-codex", "/chat/completions", "unsupported_api_for_model"),
        ("gpt-4.1", "/responses", "unsupported_api_for_model"),
        ("gpt-4.1", "/v1/messages", "unsupported_api_for_model"),
        ("text-embedding-3-small", "/chat/completions", "unsupported_api_for_model"),
        ("gpt-17", "/chat/completions", "model_not_supported"),
        ("copilot-cli-only", "/chat/completions", "model_not_available_for_integrator"),
    ],
)
async def test_an_unsupported_use_of_a_model_is_refused_with_its_code(user, model, path, code):
    answer = await user.post(path, {"model": model, "messages": [{"role": "user", "content": "Hi"}]})
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.json()["error"]["code"] == code


async def test_a_prompt_that_is_too_long_is_refused_with_its_count(user, emulator):
    emulator.models["gpt-4.1"].limits["max_prompt_tokens"] = 5
    error = (await user.chat("one two three four five six")).json()["error"]
    assert error["message"] == "prompt token count of 6 exceeds the limit of 5"
    assert error["code"] == "model_max_prompt_tokens_exceeded"
    assert (await user.chat("one two three four five")).status_code == 200


async def test_auto_mode_chooses_a_model_and_costs_less(user, emulator):
    opened = await user.post("/models/session", {"auto_mode": {"model_hints": ["auto"]}})
    session = opened.json()
    assert session["selected_model"] in session["available_models"]
    assert "claude-opus-4.7" not in session["available_models"]
    token = session["session_token"]
    body = {"prompt": "Hi", "available_models": ["claude-sonnet-4.6"]}
    routed = await user.post("/models/session/intent", body, Copilot_Session_Token=token)
    assert routed.json()["chosen_model"] == "claude-sonnet-4.6"
    assert (await user.chat("Hi", "claude-sonnet-4.6", Copilot_Session_Token=token)).status_code == 200
    assert emulator.charges[-1].cost == pytest.approx(0.9)
    wrong = await user.chat("Hi", "claude-sonnet-4.6", Copilot_Session_Token="other")
    assert wrong.json()["error"]["code"] == "session_expired"


async def test_a_request_without_a_model_gets_the_default(user):
    answer = await user.post("/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]})
    assert answer.json()["model"] == "gpt-4.1-2025-04-14"


async def test_embeddings_are_the_same_for_the_same_text(user):
    body = {"model": "text-embedding-3-small", "input": ["a", "b", "a"]}
    first, second, third = (await user.post("/embeddings", body)).json()["data"]
    assert first["embedding"] == third["embedding"] != second["embedding"]
    assert (await user.post("/embeddings", {"model": "gpt-4.1", "input": ["a"]})).status_code == 400
