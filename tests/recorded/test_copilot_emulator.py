"""The emulator's answers have the same fields as recorded answers of Copilot.

The recordings are next to the repository and not part of it. If they are missing, the tests are skipped.
"""

import json

import httpx2
import pytest

from tests.recorded.recordings import TRANSCRIPTS
from tests.unit.emulator.visitor import WEATHER, Visitor, chunks

COPILOT = TRANSCRIPTS / "copilot"
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]

pytestmark = pytest.mark.skipif(not COPILOT.is_dir(), reason=f"no recordings at {COPILOT}")


@pytest.fixture
async def user(emulator):
    """Return a client of an account with a business plan, as in the recordings."""
    emulator.set_plan("business")
    async with httpx2.AsyncClient(trust_env=False, timeout=10) as http:
        visitor = Visitor(emulator, http)
        await visitor.exchange()
        yield visitor


def fields(value, path=""):
    """Return the paths of all members. The entries of a list share one path."""
    found = set()
    if isinstance(value, dict):
        for name, inner in value.items():
            found |= {f"{path}.{name}"} | fields(inner, f"{path}.{name}")
    if isinstance(value, list):
        for inner in value:
            found |= fields(inner, f"{path}[]")
    return found


def recorded_json(name):
    return json.loads((COPILOT / name).read_text("utf-8"))


def recorded_chunks(name):
    lines = (COPILOT / name).read_text("utf-8").splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


async def test_an_exchange_has_the_recorded_fields(user, emulator):
    recorded = recorded_json("llm-github-copilot/token_200.json")
    answer = (await user.rest("/copilot_internal/v2/token", emulator.issue_token())).json()
    assert answer.keys() == recorded.keys()
    assert answer["endpoints"].keys() == recorded["endpoints"].keys()

    def keys(token):
        return [pair.partition("=")[0] for pair in token.rpartition(":")[0].split(";")]

    assert keys(answer["token"]) == keys(recorded["token"])


async def test_a_refusal_of_bad_credentials_has_the_recorded_fields(user):
    recorded = recorded_json("llm-github-copilot/token_401.json")
    assert (await user.rest("/copilot_internal/v2/token", "ghu_bad")).json() == recorded
    for name, path in (("models_401.txt", "/models"), ("chat_completions_401.txt", "/chat/completions")):
        answer = await user.http.request(
            "GET" if path == "/models" else "POST",
            f"{user.emulator.copilot_url}{path}",
            headers=user.headers(authorization="Bearer tid=0;exp=1:2"),
        )
        assert answer.text == (COPILOT / "llm-github-copilot" / name).read_text("utf-8")


async def test_the_rows_of_models_have_the_recorded_fields(user):
    recorded = fields(recorded_json("codecompanion/models_2026_4rows.json"))
    answer = await user.get("/models", X_GitHub_Api_Version="2025-10-01")
    ours = fields(answer.json())
    # The four recorded rows do not have these members.
    absent = ("info_messages", "warning_messages", "max_inputs", "dimensions")
    assert [path for path in ours - recorded if not any(name in path for name in absent)] == []
    assert recorded - ours == set()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-sonnet-4.6", "codecompanion/copilot_tools_streaming.txt"),
        ("gemini-3.1-pro-preview", "codecompanion/copilot_tools_streaming_reasoning.txt"),
        ("gemini-2.5-pro", "opencode/gemini3_reasoning_directly_to_tool_call.sse"),
    ],
)
async def test_a_stream_with_a_call_has_the_recorded_fields(user, model, name):
    body = {
        "model": model,
        "stream": True,
        "tools": TOOLS,
        "messages": [{"role": "user", "content": "use the tool weather"}],
    }
    ours = fields(chunks(await user.post("/chat/completions", body)))
    recorded = fields(recorded_chunks(name))
    assert recorded - ours == set()
    # Some recordings do not have these members.
    absent = ("copilot_usage", "content_filter", "usage", "reasoning")
    assert [path for path in ours - recorded if not any(name in path for name in absent)] == []


async def test_a_whole_answer_of_claude_with_a_call_has_the_recorded_fields(user):
    body = {
        "model": "claude-sonnet-4.6",
        "tools": TOOLS,
        "messages": [{"role": "user", "content": "use the tool weather"}],
    }
    ours = (await user.post("/chat/completions", body)).json()
    recorded = recorded_json("codecompanion/copilot_tools_no_streaming.txt")
    assert fields(recorded) - fields(ours) == set()
    assert [fields(choice) for choice in ours["choices"]] == [fields(c) for c in recorded["choices"]]
