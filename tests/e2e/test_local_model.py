"""Answers from the real local model through the real daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import local_model
from tests.daemon import Daemon, running_daemon, user
from tests.hub import Hub
from tests.processes import children, wait_until_gone

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp has no wheel for this platform"),
]

needs_prctl = pytest.mark.skipif(sys.platform != "linux", reason="uses Linux's prctl")

QUESTION = "What is the capital of France? Answer with one word."
README_QUESTION = "In one sentence, what is the capital of France?"


@pytest.fixture
async def local_daemon(home: Path):
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    table = (
        f"model_path = {json.dumps(str(local_model.FILE))}\nparameters = {{ temperature = 0, seed = 1 }}\n"
    )
    (home / "config.toml").write_text(f"[providers.local]\n{table}", "utf-8")
    async with running_daemon(home) as daemon:
        yield daemon


@pytest.mark.requirement("4:default-provider", "2:progress")
async def test_the_local_model_answers_through_the_daemon(local_daemon: Daemon) -> None:
    await local_daemon.initialize()
    params = {"messages": [user(QUESTION)], "maxTokens": 20, "workDoneToken": "load"}
    first = await local_daemon.request("chat/start", params)
    assert "Paris" in first.result["text"]
    assert first.result["provider"] == "local"
    assert first.result["usage"]["inputTokens"] > 0
    assert first.delta_types[0] == "start"
    assert "".join(d["text"] for d in first.deltas if d["type"] == "text_delta") == first.result["text"]
    progress = [note["params"] for note in first.notifications if note["method"] == "$/progress"]
    assert [each["value"]["kind"] for each in progress] == ["begin", "end"]
    assert "Loading" in progress[0]["value"]["title"]

    again = await local_daemon.request("chat/start", {**params, "stream": False})
    assert again.result["text"] == first.result["text"]
    assert again.notifications == [], "the model was loaded again"


@pytest.mark.slow
async def test_the_installed_model_is_polite_and_brief_without_settings(home: Path) -> None:
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    (home / "config.toml").write_text(
        f"[providers.local]\nmodel_path = {json.dumps(str(local_model.FILE))}\n", "utf-8"
    )
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        greeting = (await daemon.request("chat/start", {"messages": [user("hi")]})).result
        answer = (await daemon.request("chat/start", {"messages": [user(README_QUESTION)]})).result
        long = (await daemon.request("chat/start", {"messages": [user("What is a monad?")]})).result

    assert "How can I assist you today?" in greeting["text"]
    assert answer["text"] == "The capital of France is Paris."
    assert long["usage"]["outputTokens"] <= 256


def test_the_question_of_make_chat_is_the_one_in_the_readme() -> None:
    root = Path(__file__).parents[2]
    assert f"Q ?= {README_QUESTION}\n" in (root / "Makefile").read_text("utf-8")
    assert README_QUESTION in (root / "README.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.requirement("2:cancel-request")
async def test_the_model_answers_the_next_chat_after_a_cancel(local_daemon: Daemon) -> None:
    await local_daemon.initialize()
    params = {"messages": [user("Write a very long story about a dragon.")], "maxTokens": 4000}
    chat = local_daemon.start("chat/start", params)
    await local_daemon.read_delta("text_delta")
    local_daemon.notify("$/cancelRequest", {"id": chat})
    cancelled = await local_daemon.read_until(chat)
    assert cancelled.error["code"] == -32800
    assert cancelled.error["data"]["partial"]["text"]
    answer = await local_daemon.request("chat/start", {"messages": [user(QUESTION)], "maxTokens": 20})
    assert "Paris" in answer.result["text"]


@pytest.mark.requirement("2:degradation", "6:request")
async def test_unsupported_requests_to_the_local_model_are_refused(local_daemon: Daemon) -> None:
    await local_daemon.initialize()
    tools = {"messages": [user("hi")], "tools": [{"name": "f"}]}
    assert (await local_daemon.request("chat/start", tools)).error["code"] == 1004
    unknown = {"messages": [user("hi")], "model": "local:gpt-99"}
    error = (await local_daemon.request("chat/start", unknown)).error
    assert error["code"] == 1004
    assert "gpt-99" in error["message"]
    assert "local" in error["message"]


@pytest.mark.slow
async def test_the_local_model_follows_a_json_schema(local_daemon: Daemon) -> None:
    await local_daemon.initialize()
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    params = {
        "messages": [user("Name the capital of France as JSON.")],
        "outputMode": {"schema": schema},
        "maxTokens": 60,
    }
    assert set(json.loads((await local_daemon.request("chat/start", params)).result["text"])) == {"city"}


@pytest.mark.slow
async def test_the_small_model_does_not_repeat_itself(local_daemon: Daemon) -> None:
    """Without DRY sampling, this answer repeats the same eight words five times."""
    await local_daemon.initialize()
    params = {"messages": [user("Write a very long story about a dragon.")], "maxTokens": 300}
    words = (await local_daemon.request("chat/start", params)).result["text"].split()
    runs = Counter(tuple(words[start : start + 8]) for start in range(len(words) - 7))
    assert max(runs.values()) <= 2


@pytest.mark.slow
@pytest.mark.requirement("1:stdin-eof")
@pytest.mark.parametrize("is_stopped", [False, pytest.param(True, marks=needs_prctl)])
async def test_a_killed_daemon_leaves_no_model_process(local_daemon: Daemon, is_stopped: bool) -> None:
    await local_daemon.initialize()
    await local_daemon.request("chat/start", {"messages": [user(QUESTION)], "maxTokens": 5})
    (child,) = children(local_daemon.process.pid)
    if is_stopped:
        os.kill(child, signal.SIGSTOP)
    local_daemon.process.kill()
    await local_daemon.exit_code()
    assert await wait_until_gone(child), "the model's process outlives its daemon"


@pytest.mark.requirement("9:shared")
async def test_attached_clients_load_one_model_which_ends_with_a_killed_daemon(hub: Hub, home: Path) -> None:
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    (home / "config.toml").write_text(
        f"[providers.local]\nmodel_path = {json.dumps(str(local_model.FILE))}\n", "utf-8"
    )
    params = {"messages": [user(QUESTION)], "maxTokens": 5, "workDoneToken": "load"}
    loads = []
    for _ in range(2):
        async with hub.client() as client:
            await client.initialize()
            chat = await client.request("chat/start", params)
            assert chat.result["text"]
            loads.append(any(note["method"] == "$/progress" for note in chat.notifications))
    assert loads == [True, False]

    (model,) = children(hub.pid)
    await hub.kill()
    assert await wait_until_gone(model)


@pytest.mark.slow
def test_a_model_file_of_the_user_is_installed_by_path_and_answers(home: Path, tmp_path: Path) -> None:
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    file = tmp_path / "Other-Model-Q4.gguf"
    file.symlink_to(local_model.FILE)

    def jumpseat(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "jumpseat", *arguments], stdin=subprocess.DEVNULL,
            capture_output=True, encoding="utf-8", timeout=60, check=True,
        ).stdout  # fmt: skip

    assert json.loads(jumpseat("local", "install", str(file), "--json"))["file"] == str(file)
    result = json.loads(
        jumpseat("chat", "--json", "-m", "local:", "--max-tokens", "20", "-o", "temperature=0", QUESTION)
    )
    assert (result["provider"], result["model"]) == ("local", "other-model-q4")
    assert "Paris" in result["text"]
    used = next(
        row
        for row in json.loads(jumpseat("local", "list", "--json"))["models"]
        if row.get("file") == str(file)
    )
    assert (used["name"], used["state"]) == ("other-model-q4", "used by local")
    assert json.loads(jumpseat("local", "uninstall", "other-model-q4", "--json"))["deleted"] is None
    assert file.exists()


@pytest.mark.requirement("13:prompts")
async def test_every_built_in_prompt_gets_an_answer_from_the_local_model(local_daemon: Daemon) -> None:
    await local_daemon.initialize()
    rows = (await local_daemon.request("prompts/list")).result["prompts"]
    code = "def half(x):\n    return x / 3\n"
    answers = {}
    for row in rows:
        prompt = (await local_daemon.request("prompts/get", {"name": row["name"], "input": code})).result
        params = {"messages": [user(prompt["text"])], "maxTokens": 60}
        answers[row["name"]] = (await local_daemon.request("chat/start", params)).result["text"]

    # The small model's answers may be wrong, but they must have the form that the prompt asks for.
    assert all(len(answer.split()) > 5 for answer in answers.values()), answers
    assert "```" in answers["tests"]
    assert "```" not in answers["explain"][:20]
