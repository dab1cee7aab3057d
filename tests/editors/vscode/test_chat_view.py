"""VS Code's own chat view with the daemon's models: picker, streaming, stop button, tools of its agent."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.vscode.provider import hello

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.mark.scenario("model-change")
def test_a_model_is_chosen_in_the_picker_of_vs_code(chat, provider):
    chat.choose_model("other-model")
    provider.script(hello())
    chat.ask("Hello?")
    chat.wait_for_answer_text("Hello there.")
    chat.wait_for_answer()
    assert "other-model" in [each["model"] for each in provider.chats]
    provider.script(hello())
    chat.choose_model("fake-model")
    chat.ask("Again?")
    chat.wait_for_answer()
    assert provider.chats[-1]["model"] == "fake-model"


@pytest.mark.scenario("stream")
def test_an_answer_streams_into_the_chat_view(chat, provider):
    gate = Gate()
    provider.script(
        Reply.events([chunk({"content": "First words and "}), gate, *completion_stream(["the last."])])
    )
    chat.ask("Say hello.")
    chat.wait_for_answer_text("First words")
    assert "the last." not in chat.answers.last.inner_text()
    provider.open(gate)
    chat.wait_for_answer_text("First words and the last.")
    chat.wait_for_answer()


@pytest.mark.scenario("stop-after-first-token")
def test_the_stop_button_ends_the_request_and_the_partial_answer_stays(chat, provider):
    provider.script(Reply.events([chunk({"content": "Half an answer "}), Gate()]))
    chat.ask("A story.")
    chat.wait_for_answer_text("Half an")
    chat.stop()
    chat.wait_for_answer()
    provider.wait_for_disconnect()
    assert "Half an" in chat.answers.last.inner_text()


@pytest.mark.scenario("stop-before-first-token")
def test_the_stop_button_ends_a_request_that_waits_for_the_provider(chat, provider):
    provider.script(Reply.events([Gate(), *completion_stream(["Late."])]))
    chat.ask("A slow one.")
    provider.wait_for_chat()
    chat.stop()
    chat.wait_for_answer()
    provider.wait_for_disconnect()


def test_the_agent_of_vs_code_runs_a_tool_and_continues(chat, provider):
    file = chat.server.workspace / "notes.txt"
    file.write_text("The secret word is plum.\n")
    call = FakeCall("call_1", "read_file", [f'{{"filePath": "{file}", "startLine": 1, "endLine": 2}}'])
    provider.script(
        Reply.events(completion_stream(["I read it."], tool_calls=[call])),
        Reply.events(completion_stream(["Plum."])),
    )
    chat.ask("What is the secret word?")
    chat.wait_for_answer_text("Plum.")
    chat.wait_for_answer()
    sent = [message for each in provider.chats for message in each["messages"]]
    result = next(message for message in sent if message["role"] == "tool")
    assert "The secret word is plum." in str(result["content"])


@pytest.mark.scenario("thinking")
def test_thinking_has_a_level_and_is_shown_folded(chat, provider):
    provider.script(
        Reply.events(completion_stream(["Yes."], reasoning=["Let me think about plums ", "and pears."]))
    )
    chat.choose_thinking("High")
    chat.ask("Is it?")
    chat.wait_for_answer_text("Yes.")
    chat.wait_for_answer()
    # Check all requests, because VS Code may send its own requests first, such as one for a title.
    assert "high" in [each.get("reasoning_effort") for each in provider.chats]
    thought = chat.answers.last.get_by_text("Let me think about plums and pears.")
    chat.wait_until_hidden(thought)
    chat.answers.last.locator(".completed-response-summary").click()
    chat.answers.last.locator(".chat-thinking-box .monaco-button").click()
    chat.wait_until_shown(thought)
    chat.choose_thinking("Auto")
