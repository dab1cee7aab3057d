"""Recorded answers of Copilot, which the emulator sends byte for byte to the real daemon.

The recordings are next to the repository and not part of it. If they are missing, the tests are skipped.
"""

import json

import pytest

from jumpseat.testing.upstream import Reply
from tests.copilot import configure, copilot_daemon, make_question, table
from tests.recorded.recordings import TRANSCRIPTS, recordings
from tests.recorded.test_beyond_the_dialects import BODIES, COPILOT, STREAMS, add_up, data_lines

ROTATING = [each for each in recordings("responses") if "id-rotation" in each.name]
SSE_STREAMS = [path for path in STREAMS if path.suffix == ".sse"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not STREAMS, reason=f"no recordings at {TRANSCRIPTS}"),
]


@pytest.fixture
def signed_in(home, emulator):
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")))


def content_of(result):
    thinking = "".join(block["thinking"] for block in result["content"] if block["type"] == "thinking")
    return result["text"], thinking, [(call["name"], call["arguments"]) for call in result["toolCalls"]]


@pytest.mark.requirement("copilot:recordings")
@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in STREAMS])
async def test_a_recorded_stream_is_the_sum_of_its_chunks(home, emulator, path):
    emulator.script("/chat/completions", Reply.raw(path.read_bytes(), 200, "text/event-stream"))
    async with copilot_daemon(home) as daemon:
        chat = await daemon.request("chat/start", make_question(model="copilot:gemini-3.1-pro-preview"))

    chunks = [json.loads(line.removeprefix("data:")) for line in data_lines(path) if "[DONE]" not in line]
    deltas = [choice.get("delta") or {} for chunk in chunks for choice in chunk["choices"]]
    assert content_of(chat.result) == add_up(deltas)
    assert chat.delta_types[-1] == "done"


@pytest.mark.requirement("copilot:recordings")
@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in BODIES])
async def test_a_recorded_body_has_all_its_messages(home, emulator, path):
    emulator.script("/chat/completions", Reply.raw(path.read_bytes(), 200, "application/json"))
    async with copilot_daemon(home) as daemon:
        params = make_question(model="copilot:gpt-4.1", stream=False)
        chat = await daemon.request("chat/start", params)

    messages = [choice["message"] for choice in json.loads(path.read_bytes())["choices"]]
    assert content_of(chat.result) == add_up(messages)


@pytest.mark.requirement("copilot:recordings")
@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in SSE_STREAMS])
async def test_encrypted_reasoning_of_a_recording_goes_back_byte_for_byte(home, emulator, path):
    emulator.script("/chat/completions", Reply.raw(path.read_bytes(), 200, "text/event-stream"))
    emulator.script("/chat/completions", Reply.raw(BODIES[0].read_bytes(), 200, "application/json"))
    turn = {"model": "copilot:gemini-3.1-pro-preview"}
    async with copilot_daemon(home) as daemon:
        first = (await daemon.request("chat/start", make_question(**turn))).result
        results = [
            {"type": "tool_result", "toolUseId": call["id"], "content": "done"} for call in first["toolCalls"]
        ]
        messages = [
            *make_question()["messages"],
            {"role": "assistant", "content": first["content"]},
            {"role": "user", "content": [*results, {"type": "text", "text": "Go on."}]},
        ]
        await daemon.request("chat/start", {**turn, "messages": messages})

    chunks = [json.loads(line.removeprefix("data:")) for line in data_lines(path) if "[DONE]" not in line]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    sealed = "".join(delta.get("reasoning_opaque") or "" for delta in deltas)
    second = emulator.requests(path="/chat/completions")[1].json
    sent = [each.get("reasoning_opaque") for each in second["messages"] if each["role"] == "assistant"]
    assert sent == [sealed]


@pytest.mark.requirement("copilot:recordings")
@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("recording", [pytest.param(each, id=each.name) for each in ROTATING])
async def test_rotating_ids_do_not_mix_items(home, emulator, recording):
    emulator.script("/responses", Reply.raw(recording.body, 200, "text/event-stream"))
    async with copilot_daemon(home) as daemon:
        chat = await daemon.request("chat/start", make_question(model="copilot:gpt-5.3-codex"))

    assert chat.result["text"] == recording.expected["text"]
    assert [block["type"] for block in chat.result["content"]].count("text") == 1


@pytest.mark.requirement("copilot:recordings")
@pytest.mark.usefixtures("signed_in")
async def test_a_recorded_refusal_for_a_used_up_quota_is_error_1003(home, emulator):
    body = (COPILOT / "codecompanion" / "copilot_quota_exceeded.txt").read_bytes()
    emulator.script("/chat/completions", Reply.raw(body, 402, "text/plain"))
    async with copilot_daemon(home) as daemon:
        chat = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))

    assert chat.error["code"] == 1003
