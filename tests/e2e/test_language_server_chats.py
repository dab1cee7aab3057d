"""Chats with the real Copilot language server behind the real daemon, signed in at the emulator."""

from __future__ import annotations

import asyncio

import pytest

from jumpseat.testing.upstream import Gate
from tests.daemon import WAIT_SECONDS, user
from tests.e2e.language_server_harness import (
    MESSAGES,
    MODEL,
    PROVIDER,
    begin_chat,
    chat_params,
    delta_text,
    find_echo,
    running_harness,
)

pytestmark = [pytest.mark.slow, pytest.mark.requirement("language-server:real-emulator")]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": PNG, "mediaType": "image/png"}
"""An image of one pixel."""


@pytest.mark.requirement("language-server:conversation", "language-server:tools-away", "2:laws", "2:usage")
@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gpt-4.1", "/chat/completions"),
        (MODEL, MESSAGES),
        ("gemini-2.5-pro", "/chat/completions"),
        ("gpt-5.3-codex", "/responses"),
    ],
)
async def test_an_answer_streams_through_each_api_of_the_server(harness, emulator, model, path):
    # The question has two lines, because for some models the server forwards only whole lines.
    question = "One line\nand another"
    chat = await harness.daemon.request("chat/start", chat_params(question, model=model))

    assert delta_text(chat) == chat.result["text"]
    assert find_echo(chat.result) == question
    assert chat.delta_types.count("text_delta") > 1
    assert chat.result["stopReason"] == "end_turn"
    assert chat.result["model"] == model
    assert chat.result["usage"]["inputTokens"] > 0
    assert chat.result["usage"]["outputTokens"] > 0
    (request,) = emulator.requests(path=path)
    assert request.json["model"] == model
    assert not request.json.get("tools"), "the server offered its own tools, which read the user's files"
    assert [charge.model for charge in emulator.charges] == [model], "another model was requested too"


@pytest.mark.requirement("language-server:history")
@pytest.mark.parametrize(
    ("model", "path"),
    [("gpt-4.1", "/chat/completions"), (MODEL, MESSAGES), ("gpt-5.3-codex", "/responses")],
)
async def test_the_system_prompt_and_an_image_reach_the_model(harness, emulator, model, path):
    content = [{"type": "text", "text": "What is this?"}, IMAGE]
    params = {"model": f"{PROVIDER}:{model}", "messages": [user(content)], "system": "Speak like a pirate."}
    chat = (await harness.daemon.request("chat/start", params)).result

    assert chat["text"].endswith("I see 1 image.")
    (request,) = emulator.requests(path=path)
    assert PNG.encode() in request.body
    assert request.body.index(b"Speak like a pirate.") < request.body.index(b"What is this?")


@pytest.mark.requirement("language-server:second-turn")
async def test_a_chat_continues_its_conversation_unless_the_history_was_edited(home, emulator):
    system = "Speak like a pirate."
    async with running_harness(home, emulator, launch="tee") as harness:
        first = await harness.ask("My name is Ada.", system=system)
        before = [user("My name is Ada."), {"role": "assistant", "content": first["content"]}]
        second = await harness.ask("Repeat my first message", messages=before, system=system)
        edited = [user("My name is Grace."), {"role": "assistant", "content": "Hello, Grace."}]
        third = await harness.ask("Repeat my first message", messages=edited, system=system)
        methods = [message.get("method") for message in harness.read_messages()]

    assert [method for method in methods if method in ("conversation/create", "conversation/turn")] == [
        "conversation/create",
        "conversation/turn",
        "conversation/create",
    ]
    assert find_echo(second).endswith("\nMy name is Ada.")
    # The server adds its text around the current message only, not around the history.
    assert third["text"].endswith("\nMy name is Grace.")
    sent = emulator.requests(path=MESSAGES)
    roles = [[message["role"] for message in request.json["messages"]] for request in sent]
    assert roles == [["user"], ["user", "assistant", "user"], ["user", "assistant", "user"]]
    assert [str(request.json["messages"][0]).count(system) for request in sent] == [1, 1, 1]
    assert not any(request.json.get("tools") for request in sent)


async def test_two_concurrent_chats_do_not_mix(harness, emulator):
    gate = Gate()
    slow = await begin_chat(harness, emulator, gate)
    quick = harness.daemon.start("chat/start", chat_params("Are you there?", stream=False))
    async with asyncio.timeout(WAIT_SECONDS):
        while (message := await harness.daemon.read()).get("id") != quick:
            assert "id" not in message, "the slow chat has ended although its answer is paused"
    gate.open()
    ended = (await harness.daemon.read_until(slow)).result
    assert find_echo(message["result"]) == "Are you there?"
    assert ended["text"].endswith("29 30")


@pytest.mark.requirement("language-server:completion", "language-server:capabilities", "2:degradation")
async def test_the_completion_api_answers_in_one_delta_and_reports_missing_features(home, emulator):
    async with running_harness(home, emulator, chat_api="completion") as harness:
        providers = (await harness.daemon.request("providers/list", {})).result["providers"]
        chat = await harness.daemon.request("chat/start", chat_params("What is a monad?"))
        image_error = (
            await harness.daemon.request("chat/start", chat_params("Look", messages=[user([IMAGE])]))
        ).error
        tool = {"name": "t", "description": "A tool.", "parameters": {"type": "object"}}
        tools = (await harness.daemon.request("chat/start", chat_params("Use it", tools=[tool]))).error
        json_mode = await harness.daemon.request("chat/start", chat_params("Hello", outputMode="json"))

    (row,) = [row for row in providers if row["id"] == PROVIDER]
    capabilities = ("streaming", "toolCalls", "jsonMode", "vision", "thinking")
    assert {row["capabilities"][key] for key in capabilities} == {False}
    assert chat.delta_types.count("text_delta") == 1
    assert delta_text(chat) == chat.result["text"]
    assert chat.result["text"].startswith("# completion 1 of:")
    sent = emulator.requests(path="/v1/engines/gpt-41-copilot/completions")
    assert "What is a monad?" in sent[0].json["prompt"]
    assert [error["code"] for error in (image_error, tools)] == [1004, 1004]
    assert "warning" in json_mode.delta_types
    assert emulator.requests(path=MESSAGES) == []


@pytest.mark.requirement("language-server:history")
@pytest.mark.parametrize("words", ["/help me with this", "/tests", "@github what is this?"])
async def test_text_that_looks_like_an_editors_command_reaches_the_model(harness, emulator, words):
    first = await harness.ask(words)
    before = [user(words), {"role": "assistant", "content": first["content"]}]
    second = await harness.ask(words, messages=before)
    # The adapter puts a zero-width space before such a text, so that the server does not run a command.
    assert [find_echo(chat).lstrip("\u200b") for chat in (first, second)] == [words, words]
    assert len(emulator.charges) == 2


@pytest.mark.requirement("2:thinking")
async def test_an_effort_reaches_the_model_or_is_dropped_with_a_warning(harness, emulator):
    chat = await harness.ask("Hello", model="gemini-2.5-pro", thinking="low")
    assert [block["type"] for block in chat["content"]] == ["thinking", "text"]
    (request,) = emulator.requests(path="/chat/completions")
    assert request.json["reasoning_effort"] == "low"
    # For a model that it reaches through another endpoint, the server drops the effort and the thinking.
    dropped = await harness.daemon.request("chat/start", chat_params("Hello", thinking="low"))
    (warning,) = [delta for delta in dropped.deltas if delta["type"] == "warning"]
    assert warning["code"] == "thinking_ignored"
    (request,) = emulator.requests(path=MESSAGES)
    assert not {"thinking", "output_config"} & set(request.json)


@pytest.mark.requirement("4:default-provider")
async def test_a_chat_without_a_model_uses_the_servers_default(harness):
    chat = (await harness.daemon.request("chat/start", {"messages": [user("Hello")]})).result
    assert (chat["provider"], chat["model"], find_echo(chat)) == (PROVIDER, "gpt-4.1", "Hello")


@pytest.mark.requirement("language-server:cancel", "2:cancel-request")
async def test_a_cancel_closes_the_upstream_connection_immediately(harness, emulator):
    request = await begin_chat(harness, emulator, Gate())
    harness.daemon.notify("$/cancelRequest", {"id": request})
    ended = await harness.daemon.read_until(request)
    upstream = await emulator.wait_for(MESSAGES)
    async with asyncio.timeout(WAIT_SECONDS):
        await upstream.disconnected.wait()
    assert ended.error["code"] == -32800
    assert ended.error["data"]["partial"]["text"].startswith("1")
    assert ended.deltas[-1]["stopReason"] == "cancelled"
    assert find_echo(await harness.ask("Still there?")) == "Still there?"
