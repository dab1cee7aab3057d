"""Kept conversations in Neovim, against the real daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors import chats
from tests.editors.chats import list_kept_ids
from tests.editors.neovim.child import Child, running_neovim

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def choose_in_history(child: Child, *choices: str, words: str = "") -> None:
    """Run `:Jumpseat history WORDS`, and in each menu choose the first item that contains the next text."""
    child.script_choices(*choices)
    child.command(f"Jumpseat history {words}")
    child.wait_for_choices()


def ask_about_the_sky(home: Path, provider) -> None:
    """Ask about the sky in a separate Neovim, which then ends."""
    with running_neovim(home) as first:
        first.command("Jumpseat")
        chats.ask_about_the_sky(first, provider)


@pytest.mark.scenario("history")
def test_a_kept_conversation_is_picked_and_continued_in_another_neovim(home, provider):
    ask_about_the_sky(home, provider)
    (name,) = list_kept_ids(home)
    with running_neovim(home) as child:
        choose_in_history(child, "Which colour is the sky?", "Continue")
        chats.continue_about_the_sky(child, provider)
    assert list_kept_ids(home) == [name]


def test_continuing_an_open_conversation_shows_the_existing_chat(home, provider):
    with running_neovim(home) as child:
        child.command("Jumpseat")
        chats.ask_about_the_sky(child, provider)
        child.write("A draft.")
        child.command("Jumpseat!")
        choose_in_history(child, "Which colour", "Continue")
        child.wait_for_text("A draft.")
        assert child.lua("return #require('jumpseat.core.chats').list()") == 2


def test_times_are_shown_in_the_users_time_zone(home, provider):
    ask_about_the_sky(home, provider)
    with running_neovim(home, env={"TZ": "XYZ-05:30"}) as child:
        before = child.lua("return os.date('%Y-%m-%d %H', os.time() - 60)")
        after = child.lua("return os.date('%Y-%m-%d %H')")
        child.lua("vim.ui.select = function(items, options) _G.row = options.format_item(items[1]) end")
        child.command("Jumpseat history")
        child.wait("_G.row")
        row = child.lua("return _G.row")
        assert row.startswith((before, after)), row


@pytest.mark.scenario("history")
def test_a_kept_conversation_is_forked_and_the_fork_continued(home, provider):
    ask_about_the_sky(home, provider)
    provider.script(Reply.events(completion_stream(["Other."])))
    with running_neovim(home) as child:
        choose_in_history(child, "Which colour", "Fork", words="sky")
        child.wait_for_text("Blue.")
        child.wait_for_text(" fake:fake-model  ")
        # Undo does not remove the text that the fork begins with.
        child.keys("u")
        assert "Blue." in child.text
        child.ask("And the sea?")
        child.wait_until_idle()
    assert len(list_kept_ids(home)) == 2


@pytest.mark.scenario("history")
def test_a_kept_conversation_is_previewed_and_deleted(home, provider):
    ask_about_the_sky(home, provider)
    with running_neovim(home) as child:
        choose_in_history(child, "Which colour", "Preview")
        child.wait_for_text("Which colour is the sky?")
        assert "Blue." in child.text
        assert child.lua("return vim.bo.modifiable") is False
        choose_in_history(child, "Which colour", "Preview")
        child.wait_for_text("Which colour is the sky?")
        # The second preview is shown in the window of the first one.
        assert child.lua("return #vim.api.nvim_list_wins()") == 2
        choose_in_history(child, "Which colour", "Delete", "Delete")
        child.wait("#_G.messages == 1")
        assert child.messages == ["jumpseat: The conversation was deleted."]
        child.command("Jumpseat history")
        child.wait("#_G.messages == 2")
        assert child.messages[1] == "jumpseat: No conversation was found."
    assert list_kept_ids(home) == []


def test_a_kept_conversation_is_renamed(home, provider):
    ask_about_the_sky(home, provider)
    with running_neovim(home) as child:
        child.lua("""
            vim.ui.input = function(options, answer)
              _G.offered = options.default
              answer('Colours')
            end
        """)
        choose_in_history(child, "Which colour", "Rename")
        child.wait("#_G.messages == 1")
        assert child.lua("return _G.offered") == "Which colour is the sky?"
        assert child.messages == ['jumpseat: The conversation was renamed to "Colours".']
        choose_in_history(child, "Colours", "Preview", words="sky")
        child.wait_for_text("Which colour is the sky?")


def ask_about(child: Child, provider, *questions: str) -> None:
    """Ask each question in a chat of its own."""
    for question in questions:
        provider.script(Reply.events(completion_stream(["Yes."])))
        child.command("Jumpseat!")
        child.ask(question)
        child.wait_for_text("Yes.")
        child.wait_until_idle()


CHANGE_TITLE = """
vim.ui.input = function(options, answer)
  _G.offered = options.default
  answer(options.default .. '!')
end
"""


@pytest.mark.scenario("history-titles")
def test_the_model_suggests_a_title_which_the_user_changes(child, provider):
    chats.ask_about_the_sky(child, provider)
    child.lua(CHANGE_TITLE)
    provider.script(Reply.events(completion_stream(["**Colour of the sky**"])))
    child.command("Jumpseat title")
    child.wait("#_G.messages == 2")
    assert child.lua("return _G.offered") == "Colour of the sky"
    renamed = 'jumpseat: The conversation was renamed to "Colour of the sky!".'
    assert child.messages == ["jumpseat: Asking the model for a title …", renamed]

    provider.script(Reply.events(completion_stream(["Blue"])))
    choose_in_history(child, "Colour of the sky!", "Suggest a title")
    child.wait("#_G.messages == 4")
    assert child.messages[-1] == 'jumpseat: The conversation was renamed to "Blue!".'
    child.command("Jumpseat title The sky")
    child.wait("#_G.messages == 5")
    assert child.messages[-1] == 'jumpseat: The conversation was renamed to "The sky".'


def test_a_chat_without_a_kept_conversation_gets_no_title(child, provider):
    child.command("Jumpseat title")
    unkept = "jumpseat: This chat has no kept conversation. Send a question first."
    assert child.messages == [unkept]
    child.command("enew")
    child.command("Jumpseat title")
    assert child.messages == [unkept, "jumpseat: This buffer is not a chat."]
    assert provider.requests == []


@pytest.mark.scenario("history-pickers")
def test_several_conversations_are_deleted_together(child, provider, home):
    ask_about(child, provider, "First?", "Second?", "Third?")
    assert len(list_kept_ids(home)) == 3
    child.script_choices("Delete several", "Delete")
    child.command("Jumpseat history")
    child.wait_for_text("<CR> delete")
    assert "[ ] " in child.screen
    child.lua("assert(vim.fn.search('Third?') > 0)")
    child.keys("<Space>")
    child.lua("assert(vim.fn.search('First?') > 0)")
    child.keys("<Space>")
    child.lua("assert(vim.fn.search('Second?') > 0)")
    # Mark it and remove the mark.
    child.keys("<Space><Space><CR>")
    child.wait("#_G.messages == 1")
    assert child.lua("return _G.prompts") == ["Conversation:", "Delete 2 conversations?"]
    assert child.messages == ["jumpseat: 2 conversations were deleted."]
    assert len(list_kept_ids(home)) == 1
    choose_in_history(child, "Second?", "Preview")
    child.wait_for_text("Second?")


def test_a_picker_that_is_not_installed_is_reported(home, provider):
    ask_about_the_sky(home, provider)
    with running_neovim(home, options={"picker": "telescope"}) as child:
        choose_in_history(child, "Which colour", "Preview")
        child.wait_for_text("Which colour is the sky?")
        assert child.messages == ["jumpseat: The picker telescope is not installed."]


def test_chats_are_not_kept_if_the_option_keep_is_false(home, provider):
    with running_neovim(home, options={"keep": False}) as child:
        child.command("Jumpseat")
        chats.check_chat_that_is_not_kept(child, provider, home)
        child.command("Jumpseat title Sky")
        unkept = "jumpseat: This chat has no kept conversation. The option 'keep' is off."
        assert child.messages[-1] == unkept
