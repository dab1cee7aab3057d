"""`@jumpseat` in the chat view, against the real daemon and a scripted provider."""

from __future__ import annotations

import re

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.provider import text_of
from tests.editors.vscode.provider import hello

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.mark.scenario("stream")
def test_an_answer_streams_and_the_next_question_has_the_first_in_its_history(chat, provider):
    gate = Gate()
    provider.script(Reply.events([chunk({"content": "Hello from "}), gate, *completion_stream(["here."])]))
    chat.ask("@jumpseat Say hello.")
    chat.wait_for_answer_text("Hello from")
    provider.open(gate)
    chat.wait_for_answer_text("Hello from here.")
    chat.wait_for_answer()

    provider.script(hello())
    chat.ask("@jumpseat And again.")
    chat.wait_for_answer()
    sent = [(message["role"], message["content"]) for message in provider.chats[1]["messages"]]
    assert sent == [("user", "Say hello."), ("assistant", "Hello from here."), ("user", "And again.")]


@pytest.mark.scenario("stop-after-first-token")
def test_a_stopped_answer_keeps_its_text_and_can_be_continued(chat, provider):
    provider.script(Reply.events([chunk({"content": "Half an answer "}), Gate()]))
    chat.ask("@jumpseat A story.")
    chat.wait_for_answer_text("Half an")
    chat.stop()
    chat.wait_for_answer()
    provider.wait_for_disconnect()

    provider.script(hello())
    chat.ask("@jumpseat Go on.")
    chat.wait_for_answer_text("Hello there.")
    sent = [message["content"] for message in provider.chats[1]["messages"]]
    assert sent == ["A story.", "Half an answer ", "Go on."]


@pytest.mark.scenario("stop-before-first-token")
def test_a_question_that_waits_for_the_provider_is_stopped_and_stays(chat, provider):
    provider.script(Reply.events([Gate(), *completion_stream(["Late."])]))
    chat.ask("@jumpseat A slow one.")
    provider.wait_for_chat()
    chat.stop()
    chat.wait_for_answer()
    provider.wait_for_disconnect()
    chat.wait_for_text("A slow one.")


@pytest.mark.scenario("ask-on-selection")
def test_a_question_on_a_selection_has_its_file_language_and_lines(chat, provider):
    chat.open_file("area.py", "import math\n\ndef area(r):\n    return math.pi * r\n", select=(2, 4))
    provider.script(hello())
    chat.command("jumpseat.ask")
    chat.wait_for_text("area.py:3-5", within=chat.input)
    chat.page.keyboard.type("Is it right?")
    chat.page.keyboard.press("Enter")
    chat.wait_for_answer_text("Hello there.")
    (message,) = provider.chats[0]["messages"]
    assert text_of(message) == (
        "`area.py`, lines 3-4:\n```python\ndef area(r):\n    return math.pi * r\n```\n\nIs it right?"
    )


def test_a_question_does_not_change_the_mode_of_the_chat(chat, provider):
    agent = chat.input.get_by_role("button", name="Agent", exact=True)
    chat.command("workbench.action.chat.open", {"mode": "agent"})
    chat.wait_until_shown(agent)
    provider.script(hello())
    chat.command("jumpseat.ask", "Hello?")
    chat.wait_for_answer_text("Hello there.")
    chat.wait_until_shown(agent)


def test_a_prompt_of_the_configuration_is_put_into_the_question(chat, provider):
    provider.script(hello())
    chat.ask("@jumpseat /tidy x=1")
    chat.wait_for_answer_text("Hello there.")
    assert provider.chats[0]["messages"][0]["content"] == "Tidy this: x=1"


@pytest.mark.scenario("prompts")
def test_the_prompts_are_listed(chat, provider):
    chat.ask("@jumpseat /prompt ")
    chat.wait_for_answer_text("Make it tidy.")
    chat.wait_for_answer()
    assert provider.chats == []


def test_an_error_is_shown_with_a_button_to_select_a_model(chat, provider):
    provider.script(Reply.json({"error": {"message": "The model is on holiday."}}, 400))
    chat.ask("@jumpseat Hello?")
    chat.wait_for_answer_text("The model is on holiday.")
    chat.wait_until_shown(chat.answers.last.get_by_text("Select Model"))


def test_select_model_below_an_error_chooses_the_model_of_the_next_question(chat, provider):
    provider.script(Reply.json({"error": {"message": "The model is on holiday."}}, 400), hello())
    chat.ask("@jumpseat Hello?")
    chat.answers.last.get_by_text("Select Model").click()
    chat.menu.get_by_placeholder("Search models").fill("other-model")
    chat.menu.locator(".monaco-list-row").filter(has_text="other-model").first.click()
    chat.ask("@jumpseat Hello?")
    chat.wait_for_answer_text("Hello there.")
    chat.choose_model("fake-model")
    assert [each["model"] for each in provider.chats] == ["fake-model", "other-model"]


@pytest.mark.scenario("thinking")
def test_thinking_is_sent_back_as_thinking(chat, provider):
    provider.script(Reply.events(completion_stream(["Yes."], reasoning=["Let me ", "think."])), hello())
    chat.ask("@jumpseat Is it?")
    chat.wait_for_answer_text("Yes.")
    chat.wait_for_answer()
    chat.ask("@jumpseat Sure?")
    chat.wait_for_answer_text("Hello there.")
    answer = provider.chats[1]["messages"][1]
    assert (answer["content"], answer["reasoning_content"]) == ("Yes.", "Let me think.")


def test_the_tokens_of_an_answer_and_of_the_window_are_shown(chat, provider):
    usage = {"prompt_tokens": 1204, "completion_tokens": 87, "cost": 0.25}
    for _ in range(2):
        provider.script(Reply.events(completion_stream(["Two."], usage=usage)))
        chat.ask("@jumpseat One?")
        chat.wait_for_answer_text("Two.")
        chat.wait_for_answer()
        chat.wait_for_answer_text("fake:fake-model · 1,204 tokens in · 87 out")
    chat.start("jumpseat.status")
    row = chat.quick_input.get_by_text("tokens in")
    chat.wait_until_shown(row)
    answers, tokens_in = (int(each.replace(",", "")) for each in re.findall(r"[\d,]+", row.inner_text())[:2])
    assert answers >= 2
    assert tokens_in >= 2408
    chat.page.keyboard.press("Escape")


@pytest.mark.scenario("prompts")
def test_a_command_for_code_sends_the_selection_and_not_the_rest_of_the_file(chat, provider):
    chat.open_file("area.py", "import math\n\ndef area(r):\n    return math.pi * r\n", select=(2, 4))
    provider.script(hello())
    chat.ask("@jumpseat /fix It is too small.")
    chat.wait_for_answer_text("Hello there.")
    sent = text_of(provider.chats[0]["messages"][0])
    assert "`area.py`, lines 3-4" in sent
    assert "Find the bug in the following and fix it." in sent
    assert sent.endswith("It is too small.")
    assert "import math" not in sent


def test_the_rules_that_vscode_attaches_are_sent_once(chat, provider):
    rules = chat.server.workspace / "AGENTS.md"
    rules.write_text("Write British English.\n")
    try:
        chat.configure("workspaceRules", True)
        provider.script(hello())
        chat.ask("@jumpseat Hello?")
        chat.wait_for_answer_text("Hello there.")
        chat.wait_for_answer()
    finally:
        chat.configure("workspaceRules", None)
        rules.unlink()
    assert str(provider.chats[0]["messages"]).count("British English") == 1
