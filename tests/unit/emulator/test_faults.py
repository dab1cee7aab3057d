"""Scripted faults of the emulator, and its own defects, which fail the test."""

import httpx2
import pytest

from jumpseat.testing.upstream import Gate, Reply
from tests.emulator import CopilotEmulator, faults
from tests.unit.emulator.visitor import chunks

BODIES = {
    "/chat/completions": {"model": "gpt-4.1", "stream": True},
    "/responses": {"model": "gpt-5.3-codex", "stream": True},
    "/v1/messages": {"model": "claude-sonnet-4.6", "stream": True, "max_tokens": 100},
}
COUNTING = [{"role": "user", "content": "Count to 9"}]


def body_for(path):
    name = "input" if path == "/responses" else "messages"
    return {**BODIES[path], name: COUNTING}


@pytest.mark.parametrize(
    ("fault", "status", "header"),
    [
        (faults.quota_exceeded(), 402, ("retry-after", "86400")),
        (faults.quota_exceeded(bare=True), 402, None),
        (faults.rate_limited(7), 429, ("retry-after", "7")),
        (faults.forbidden(), 403, None),
        (faults.forbidden("no", "feature_flag_blocked"), 403, None),
        (faults.unauthorized(), 401, None),
        (faults.server_error(503), 503, None),
        (faults.filtered(), 422, None),
        (faults.outdated(), 466, None),
    ],
)
async def test_a_scripted_answer_is_given_once(user, fault, status, header):
    user.emulator.script("gpt-4.1", fault)
    refused = await user.chat("Hi")
    assert refused.status_code == status
    assert refused.headers["x-github-request-id"]
    if header is not None:
        assert refused.headers[header[0]] == header[1]
    assert (await user.chat("Hi")).status_code == 200


async def test_a_script_is_for_a_model_a_path_or_any_data_host(user, emulator):
    emulator.script("claude-sonnet-4.6", Reply.raw(b"model", 500))
    emulator.script("/chat/completions", Reply.raw(b"path", 500))
    emulator.script(None, Reply.raw(b"any", 500))
    assert (await user.chat("Hi", "claude-sonnet-4.6")).text == "model"
    assert (await user.chat("Hi", "gpt-4.1")).text == "path"
    assert (await user.rest("/user", emulator.issue_token())).status_code == 200
    assert (await user.get("/models")).text == "any"
    assert (await user.get("/models")).status_code == 200


@pytest.mark.parametrize("path", BODIES)
async def test_an_error_in_the_stream_has_the_form_of_its_dialect(user, emulator, path):
    emulator.script(path, faults.failing("internal_error", "Out of luck.", after=4))
    events = chunks(await user.post(path, body_for(path)))
    assert len(events) == 5
    last = events[-1]
    assert last.get("error", last)["message"] == "Out of luck."
    assert ("type" in last) == (path != "/chat/completions")
    assert len(emulator.charges) == 1


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("fault", [faults.closed, faults.reset])
async def test_a_connection_may_be_lost_in_mid_stream(user, emulator, path, fault):
    emulator.script(path, fault(2))
    with pytest.raises(httpx2.TransportError):
        await user.post(path, body_for(path))
    emulator.script(path, faults.ended(2))
    assert len(chunks(await user.post(path, body_for(path)))) == 2


async def test_a_gate_holds_an_answer_back_while_tokens_expire(user, emulator):
    gate = Gate()
    emulator.script("gpt-4.1", faults.gated(gate, after=3))
    url = f"{emulator.copilot_url}/chat/completions"
    body = body_for("/chat/completions")
    async with user.http.stream("POST", url, json=body, headers=user.headers()) as answer:
        lines = answer.aiter_lines()
        begun = [await anext(lines) for _ in range(5)]
        assert sum(line.startswith("data: ") for line in begun) == 3
        emulator.expire_copilot_tokens()
        gate.open()
        rest = [line async for line in lines if line]
    assert rest[-1] == "data: [DONE]"
    assert (await user.chat("Hi")).status_code == 401


async def test_a_stalled_answer_notices_a_disconnect(user, emulator):
    emulator.script("gpt-4.1", faults.stalled(2))
    url = f"{emulator.copilot_url}/chat/completions"
    body = body_for("/chat/completions")
    async with user.http.stream("POST", url, json=body, headers=user.headers()) as answer:
        assert (await anext(answer.aiter_lines())).startswith("data: ")
    request = await emulator.wait_for("/chat/completions")
    await request.disconnected.wait()


async def test_a_defect_of_the_emulator_fails_the_test_that_met_it():
    def defect(call):
        raise ZeroDivisionError

    emulator = await CopilotEmulator().__aenter__()
    emulator.script("/_ping", defect)
    async with httpx2.AsyncClient(trust_env=False) as http:
        assert (await http.get(f"{emulator.copilot_url}/_ping")).status_code == 500
    with pytest.raises(ExceptionGroup) as raised:
        await emulator.__aexit__()
    assert isinstance(raised.value.exceptions[0], ZeroDivisionError)
