"""The emulator refuses models that the plan, the terms or the interface exclude."""

import pytest


async def rows(user):
    answer = await user.get("/models", X_GitHub_Api_Version="2025-05-01")
    assert answer.status_code == 200
    return {row["id"]: row for row in answer.json()["data"]}


@pytest.mark.parametrize("key", ["state", "status"])
async def test_terms_must_be_accepted_once_with_the_key_of_either_of_githubs_clients(user, key):
    refused = await user.chat("Hi", "claude-haiku-4.5")
    assert refused.json()["error"]["code"] == "model_not_supported"
    accepted = await user.post("/models/claude-haiku-4.5/policy", {key: "enabled"})
    assert accepted.status_code == 200
    assert (await rows(user))["claude-haiku-4.5"]["policy"]["state"] == "enabled"
    assert (await user.chat("Hi", "claude-haiku-4.5")).status_code == 200
    assert (await user.post("/models/gpt-4o/policy", {"state": "enabled"})).status_code == 400


async def test_accepting_the_terms_of_a_model_outside_the_plan_has_no_effect(user):
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
