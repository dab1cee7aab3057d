"""Kept conversations in Emacs, against the real daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors import chats
from tests.editors.chats import list_kept_ids
from tests.editors.emacs.child import Child, running_emacs

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def run_history(child: Child, *choices: str, words: str = "") -> None:
    """Run the history command, searching for `words`; pick the only conversation, then these choices."""
    if words:
        child.keys("^U")
    child.command("jumpseat-history", *filter(None, [words]))
    child.wait_for_text("Conversation: ")
    child.keys("^I^M")
    for choice in choices:
        child.answer(choice)


def ask_in_another_emacs(home: Path, package: Path, provider) -> None:
    """Ask a question in an Emacs that ends afterwards."""
    with running_emacs(home, package=package) as first:
        first.command("jumpseat")
        chats.ask_about_the_sky(first, provider)


@pytest.mark.scenario("history")
def test_a_kept_conversation_is_picked_and_continued_in_another_emacs(home, package, provider):
    ask_in_another_emacs(home, package, provider)
    (name,) = list_kept_ids(home)
    with running_emacs(home, package=package) as child:
        run_history(child, "Continue")
        chats.continue_about_the_sky(child, provider)
        chat = child.text
        run_history(child, "Continue")
        child.wait("(not (active-minibuffer-window))")
        assert child.text == chat
        assert child.eval("(length (jumpseat--chat-list))") == 1
    assert list_kept_ids(home) == [name]


@pytest.mark.scenario("history")
def test_a_kept_conversation_is_renamed_and_forked_and_the_fork_continued(home, package, provider):
    ask_in_another_emacs(home, package, provider)
    provider.script(Reply.events(completion_stream(["Other."])))
    with running_emacs(home, package=package) as child:
        run_history(child, "Rename", " again")
        child.wait_for_message('The conversation was renamed to "Which colour is the sky? again".')
        run_history(child, "Fork", words="sky")
        child.wait_for_text("Blue.")
        child.ask("And the sea?")
        child.wait_for_text("Other.")
        child.wait_until_idle()
    assert len(list_kept_ids(home)) == 2


@pytest.mark.scenario("history")
def test_a_kept_conversation_is_previewed_and_deleted(home, package, provider):
    ask_in_another_emacs(home, package, provider)
    with running_emacs(home, package=package) as child:
        run_history(child)
        child.wait_for_text("Which colour is the sky? (Continue, Preview, Fork, Rename, Delete):")
        child.answer("")
        assert child.messages == []
        run_history(child, "Preview")
        child.wait_for_text("Blue.")
        assert "Which colour is the sky?" in child.text
        assert child.eval("buffer-read-only") is True
        run_history(child, "Delete", "yes")
        child.wait_for_message("The conversation was deleted.")
        child.command("jumpseat-history")
        child.wait_for_message("No conversation was found.")
    assert list_kept_ids(home) == []


def test_chats_are_not_kept_if_the_user_turns_keeping_off(home, package, provider):
    with running_emacs(home, package=package, options={"keep": False}) as child:
        child.command("jumpseat")
        chats.check_chat_that_is_not_kept(child, provider, home)


def test_a_title_is_typed_with_its_spaces_and_its_question_mark(home, package, provider):
    ask_in_another_emacs(home, package, provider)
    with running_emacs(home, package=package) as child:
        child.command("jumpseat-history")
        child.wait_for_text("Conversation: ")
        child.keys("Which colour is the sky?")
        child.wait_for_text("Conversation: Which colour is the sky?")
        child.keys("^M")
        child.answer("Continue")
        child.wait_for_text("Blue.")
