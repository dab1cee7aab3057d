"""The menu of all commands, in chats and elsewhere."""

from __future__ import annotations

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import running_emacs
from tests.editors.provider import MODELS, WORDS, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]

CHAT = "---\nmodel: fake:fake-model\nsystem: Be brief.\n---\n\n## Me\n\n"


@pytest.mark.scenario("menu")
def test_the_menu_shows_and_changes_the_values_of_a_chat(child, provider):
    provider.default(MODELS, path="/v1/models")
    child.eval(f'(progn (erase-buffer) (insert "{CHAT}"))')
    child.keys("^C^J")
    for value in (
        "m model fake:fake-model",
        "s system prompt Be brief.",
        "t thinking default",
        "l tools none",
    ):
        child.wait_for_text(value)
    child.wait_for_text("K keep conversations yes")
    child.keys("K")
    child.wait_for_text("K keep conversations no")
    child.keys("m")
    child.answer("fake:other-model")
    child.wait('(string-search "other-model" (buffer-string))')
    child.keys("^C^J")
    child.wait_for_text("m model fake:other-model")
    child.keys("t")
    child.answer("high")
    child.wait('(string-search "thinking: high" (buffer-string))')
    child.keys("^C^J")
    child.wait_for_text("t thinking high")
    child.keys("^G")
    child.wait_until_text_is_gone("t thinking high")


def test_the_system_prompt_is_edited_in_a_window(child, provider):
    provider.script(Reply.events(WORDS))
    child.eval(f'(progn (erase-buffer) (insert "{CHAT}"))')
    child.keys("^C^Js")
    child.wait_for_text("The system prompt: C-c C-c saves it")
    child.wait('(equal (buffer-string) "Be brief.")')
    child.keys("^[>^MUse verse.")
    child.wait('(equal (buffer-string) "Be brief.\nUse verse.")')
    child.keys("^C^C")
    child.wait('(and jumpseat-chat-mode (string-search "Use verse." (buffer-string)))')
    child.ask("Hello?")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    assert list_sent_texts(provider, 0) == ["Be brief.\nUse verse.", "Hello?"]


def test_the_menu_sends_a_chat(child, provider):
    provider.script(Reply.events(WORDS))
    child.eval('(progn (goto-char (point-max)) (insert "Hello?"))')
    child.keys("^C^J")
    child.wait_for_text("RET send")
    child.keys("^M")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()


@pytest.mark.scenario("menu")
def test_the_menu_of_other_buffers_sends_their_text(home, package, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "notes.txt"
    file.write_text("Hello?\n")
    with running_emacs(home, str(file), package=package) as child:
        child.eval('(progn (global-set-key (kbd "C-c j") jumpseat-command-map) (goto-char (point-max)))')
        child.keys("^Cj?")
        child.wait_for_text("Send the region or the text before point")
        assert "system prompt" not in child.screen
        child.keys("w")
        child.wait_for_message("The answer is in the kill ring.")
        assert child.eval("(current-kill 0)") == "Hello there."
